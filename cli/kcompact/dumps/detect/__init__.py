"""Recognition of a file's layout and dialect from its first bytes.

Each step may refuse the file or ask the user; the first that does speaks alone. So the order counts:

1. ``recognition.py``: which kind of file. Binary formats by their first bytes; then the lines of a tool
   before and after the records go, so that the first byte is one of a record: JSON or text.
2. ``json_recognition.py``, ``text_recognition.py``: how records lie in it. Text is tried from the most
   telling form to the least: kafka-dump-log, labels of kafka-console-consumer, a header line, a key and a
   value in a line. What would be taken for the next form, as lines after a prefix, is refused between them.
3. ``choosing.py``: how fields are named and encoded, for JSON and for CSV with a header line.

   * The dialect; then Avro's own JSON, whose objects around values would be taken for keys and values.
   * Doubts by the dialect as it is in its table: options take the place of what they ask about.
   * The user's options; and then places. First those that the user named and no record has; next, a second
     field for one part; then parts without a place are looked for by name. Only those that are still without
     one are asked about (``refuse_likely_places``, ``refuse_places_in_texts``).
   * Encodings, by what stands at those places.
   * Names for which later records are watched: those that neither a place nor the sample has.

Avro and Parquet have a schema: ``recognise_avro`` and ``recognise_parquet`` ask the first records what it
does not say (``notes_on_columns``). What only a whole dump shows is asked by ``note_checks.py`` once it is
read: records that cannot be read come first, as without them no count is complete.
"""
