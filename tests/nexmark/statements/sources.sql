-- The three inputs of Nexmark. Event time is the column dateTime.
CREATE STREAM person (id BIGINT, name STRING, email STRING, city STRING, state STRING, dateTime BIGINT, extra STRING)
  WITH (KAFKA_TOPIC='person', VALUE_FORMAT='JSON', TIMESTAMP='dateTime');
CREATE STREAM auction (id BIGINT, itemName STRING, initialBid BIGINT, reserve BIGINT, dateTime BIGINT, expires BIGINT,
    seller BIGINT, category BIGINT, extra STRING)
  WITH (KAFKA_TOPIC='auction', VALUE_FORMAT='JSON', TIMESTAMP='dateTime');
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, dateTime BIGINT, extra STRING)
  WITH (KAFKA_TOPIC='bid', VALUE_FORMAT='JSON', TIMESTAMP='dateTime');
