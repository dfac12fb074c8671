-- Add a value from a bounded table.
CREATE TABLE side_input (k BIGINT PRIMARY KEY, v STRING) WITH (KAFKA_TOPIC='side_input', VALUE_FORMAT='JSON');
CREATE STREAM q13 AS SELECT b.auction % 10 AS k, AS_VALUE(b.auction) AS auction, b.bidder AS bidder, b.price AS price, s.v AS v
  FROM bid b JOIN side_input s ON b.auction % 10 = s.k;
