-- Select the bids for some auctions.
CREATE STREAM q2 AS SELECT auction, price FROM bid WHERE auction % 7 = 0;
