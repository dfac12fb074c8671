-- How many bids has a user made in each 10 seconds of arrival? The stream has the times at which Kafka received the bids.
CREATE STREAM q12_bid (bidder BIGINT) WITH (KAFKA_TOPIC='bid', VALUE_FORMAT='JSON');
CREATE TABLE q12 AS SELECT bidder, COUNT(*) AS bids FROM q12_bid WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY bidder;
