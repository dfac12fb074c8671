-- Pass the bids through.
CREATE STREAM q0 AS SELECT auction, bidder, price, dateTime, extra FROM bid;
