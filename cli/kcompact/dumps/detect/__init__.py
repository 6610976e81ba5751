"""Recognition of a file's layout and dialect from its first bytes.

Each step may refuse the file or ask the user. Only the first problem is reported, so the order matters:

1. ``recognition.py`` finds the kind of file. Binary formats are known by their first bytes. Then lines of a
   tool before and after the records are cut off, so that the first byte of a record tells JSON from text.
2. ``json_recognition.py`` and ``text_recognition.py`` find how records lie in the file. Forms of text are
   tried from the most distinctive to the least: kafka-dump-log, labels of kafka-console-consumer, a header
   line, a key and a value in each line. Before a form is tried, text that it would misread is refused, such
   as lines with a prefix.
3. ``choosing.py`` finds how fields are named and encoded, for JSON and for CSV with a header line:

   * It chooses the dialect, and refuses Avro's own JSON, which has objects around its values.
   * It raises doubts about the dialect as it is in the table, before the user's options change it.
   * It works in the user's options, and then settles places: it refuses fields that the user named and no
     record has, then a second field for one part; then it looks for parts without a place by name, and asks
     about those that still have none (``refuse_likely_places``, ``refuse_places_in_texts``).
   * It finds encodings from the values at those places.
   * It lists the names to watch for in later records: those that neither a place nor the sample has.

Avro and Parquet have a schema. ``recognise_avro`` and ``recognise_parquet`` look into the first records only
for facts that it does not state (``notes_on_columns``). ``note_checks.py`` asks about facts that only a whole
dump shows, once it is read. It reports unreadable records first: without them, no count is complete.
"""
