-- Convert the prices from dollars to euros.
CREATE STREAM q1 AS SELECT auction, bidder, 0.908 * price AS price, dateTime, extra FROM bid;
