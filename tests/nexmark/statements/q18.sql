-- The last bid of each bidder for each auction.
CREATE TABLE q18 WITH (KEY_FORMAT='JSON') AS SELECT bidder, auction, LATEST_BY_OFFSET(price) AS price,
    LATEST_BY_OFFSET(channel) AS channel, LATEST_BY_OFFSET(dateTime) AS dateTime FROM bid GROUP BY bidder, auction;
