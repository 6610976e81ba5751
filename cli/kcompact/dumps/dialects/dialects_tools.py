"""Dialects of JSON dumps made by hand: command-line tools, web pages. The first row that fits wins."""

from kcompact.dumps.dialects.dialect import DataField, Dialect, fields, forms, names

COMMAND_LINE = (
    Dialect(
        name="kcat",
        tool="kcat or kafkacat 1.5 to 1.7, -J",
        signature=names("topic partition offset key payload"),
        lacking=names("timestamp value"),
        **fields("timestamp=ts timestamp_type=tstype"),
        timestamp_unit="ms",
        key=DataField("key", error="key_error"),
        value=DataField("payload", error="payload_error"),
        byte_exact=True,
    ),
    Dialect(
        name="kcl",
        tool="kcl consume -f json",
        signature=names("topic partition offset timestamp leader_epoch"),
        lacking=names("payload timestamp_type serialized_key_size"),  # a record of Python's clients has them
        timestamp_unit="ms",
        key=DataField("key", base64="key_base64"),
        value=DataField("value", base64="value_base64"),
        byte_exact=True,
    ),
    Dialect(
        name="rpk",
        tool="rpk topic consume",
        signature=names("topic partition offset timestamp"),
        lacking=names("payload message content tstype timestampType timestamp_type metadata"),
        order=("topic", "key", "value", "headers", "timestamp", "partition", "offset"),
        timestamp_unit="ms",
        key=DataField("key", doubtful=forms("missing")),
        # Since 24.3 an empty value is written, and only a tombstone is not.
        value=DataField("value", doubtful=forms("missing"), settled_by="empty_value"),
    ),
    Dialect(
        name="franz-go",
        tool="franz-go, a kgo.Record marshalled to JSON",
        signature=names("Key Value Headers Timestamp Topic Partition ProducerID LeaderEpoch Offset"),
        **fields("Topic Partition Offset Timestamp Key Value Headers", encoding="base64"),
    ),
    Dialect(
        name="kafka-go",
        tool="segmentio/kafka-go, a Message marshalled to JSON",
        signature=names("Topic Partition Offset Key Value Headers Time"),
        order=("Topic", "Partition", "Offset", "Key", "Value", "Headers", "Time"),
        likely_base64=True,  # a struct of one's own may have these names, with text
        **fields("Topic Partition Offset timestamp=Time Headers"),
        **fields("Key Value", encoding="base64", nulls=forms("missing", "null"), doubtful=forms("null")),
        empty_as_null=True,
        has_markers=True,
        notes=("kafka-go writes null for what is empty, in headers, too",),
    ),
    Dialect(
        name="sarama",
        tool="Sarama, a ConsumerMessage marshalled to JSON",
        signature=names("Headers Timestamp BlockTimestamp Key Value Topic Partition Offset"),
        **fields("Topic Partition Offset Timestamp Key Value Headers", encoding="base64"),
        header_names_encoding="base64",
    ),
    Dialect(
        name="kafkajs",
        tool="KafkaJS, what eachMessage is given, as JSON",
        signature=names("topic partition message.key message.value message.offset message.timestamp"),
        **fields("key=message.key value=message.value offset=message.offset timestamp=message.timestamp"),
        **fields("headers=message.headers timestamp_type=message.batchContext.timestampType"),
        timestamp_unit="ms",
    ),
    Dialect(
        name="confluent-go",
        tool="confluent-kafka-go, a Message marshalled to JSON",
        signature=names("TopicPartition.Topic TopicPartition.Partition TopicPartition.Offset")
        | names("Value Key Timestamp TimestampType Headers"),
        **fields("topic=TopicPartition.Topic partition=TopicPartition.Partition"),
        **fields("offset=TopicPartition.Offset timestamp_type=TimestampType Timestamp Headers"),
        **fields("Key Value", encoding="base64"),
        librdkafka_types=True,
    ),
    Dialect(
        name="confluent-dotnet",
        tool="Confluent.Kafka for .NET, a ConsumeResult serialized to JSON",
        signature=names("Topic Partition.Value Offset.Value Message.Timestamp Message.Value"),
        sure=False,  # a ConsumeResult of byte[] has keys and values as base64
        **fields("Topic partition=Partition.Value offset=Offset.Value key=Message.Key value=Message.Value"),
        **fields("timestamp=Message.Timestamp.UnixTimestampMs headers="),
        timestamp_unit="ms",
        notes=("the values of headers were not exported: .NET writes their names alone",),
    ),
    Dialect(
        name="kafbat",
        tool="kafbat or provectus kafka-ui, messages saved as a file",
        signature=names("Offset Partition Timestamp"),
        lacking=names("Offset.Value Payload Message Content"),
        order=("Value", "Offset", "Key", "Partition", "Headers", "Timestamp"),
        **fields("topic= Partition Offset Timestamp Key Value Headers"),
    ),
    Dialect(
        name="kafkactl",
        tool="kafkactl consume -o json or json-raw",
        signature=names("Partition Offset Value"),
        lacking=names("Meta Offset.Value Topic Time"),  # of .NET's client, and of structs of programs in Go
        order=("Partition", "Offset", "Headers", "Key", "Value", "Timestamp"),
        **fields("topic= Partition Offset Timestamp Key Value Headers"),
        asked_headers=True,  # --print-headers
        notes=(
            "kafkactl writes what is no UTF-8 as base64 without saying so: such keys and values stay base64",
        ),
    ),
    Dialect(
        name="kaf",
        tool="kaf consume --output json",
        signature=names("key offset partition payload timestamp"),
        lacking=names("topic value ts"),
        order=("headers", "key", "offset", "partition", "payload", "timestamp"),
        text_timestamps=True,  # scripts, and PHP's client, write such names, and null for a tombstone
        **fields("topic="),
        **fields("value=payload", encoding="json", nulls=forms("missing", "empty"), doubtful=forms("empty")),
        header_names_encoding="base64",
        null_word=True,
        doubles=True,
    ),
    Dialect(
        name="kaf-each-row",
        tool="kaf consume --output json-each-row",
        signature=names("topic partition offset timestamp key payload"),
        lacking=names("ts tstype value"),
        **fields("value=payload", nulls=forms("missing", "empty"), doubtful=forms("empty")),
    ),
    Dialect(
        name="trubka",
        tool="trubka consume, JSON",
        signature=names("key offset message"),
        lacking=names("headers headersFormatted value payload"),
        **fields("headers="),
        key=DataField("key", encoding="hex"),
        value=DataField("message", encoding="json"),
        notes=("trubka skips empty messages: the dump holds no tombstones",),
    ),
    Dialect(
        name="zoe",
        tool="zoe topics consume --expose-metadata",
        signature=names("__metadata__.offset __metadata__.partition content"),
        **fields("topic=__metadata__.topic partition=__metadata__.partition offset=__metadata__.offset"),
        **fields("timestamp=__metadata__.timestamp key=__metadata__.key headers=__metadata__.headers"),
        timestamp_unit="ms",
        value=DataField("content", encoding="json"),
    ),
    Dialect(
        name="kaskade",
        tool="kaskade, records exported",
        signature=names("topic partition offset key.content key.deserializer value.content"),
        key=DataField("key.content", marker="key.encoding"),
        value=DataField("value.content", marker="value.encoding"),
        notes=("what kaskade cannot decode it writes as base64, beside an error: such parts stay base64",),
    ),
)

WEB = (
    Dialect(
        name="akhq",
        tool="AKHQ, query result downloaded",
        signature=names("partition offset timestamp keySchemaId valueSchemaId key value"),
        lacking=names("topic"),
        **fields("topic="),
        timestamp_unit="s",
        incomplete_headers=True,
        notes=(
            "AKHQ exports no headers, and only the first 1,000 characters of values above 1,000,000 bytes",
        ),
    ),
    Dialect(
        name="redpanda-console",
        tool="Redpanda Console, messages saved as JSON",
        signature=names("partitionID offset key value"),
        **fields("topic= partition=partitionID"),
        timestamp_unit="ms",
    ),
    Dialect(
        name="control-center",
        tool="Confluent Control Center or Cloud, messages downloaded",
        signature=names("timestamp timestampType partition offset key value"),
        lacking=names("topic"),
        order=("timestamp", "timestampType", "partition", "offset", "key", "value", "headers"),
        **fields("topic= timestamp_type=timestampType"),
        timestamp_unit="ms",
    ),
    Dialect(
        name="kafdrop",
        tool="Kafdrop, /topic/NAME/allmessages",
        signature=names("partition offset message key headersFormatted"),
        **fields("topic= value=message", doubtful=forms("literal")),
        null_literal="empty",
    ),
)
