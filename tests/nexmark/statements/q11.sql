-- How many bids has a user made in each session?
CREATE TABLE q11 AS SELECT bidder, COUNT(*) AS bids, MIN(dateTime) AS begins, MAX(dateTime) AS ends
  FROM bid WINDOW SESSION (2 SECONDS) GROUP BY bidder;
