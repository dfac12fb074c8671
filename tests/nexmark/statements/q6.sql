-- The average price of the last ten auctions that each seller sold. A list of all of them stands in for OVER (ROWS 10
-- PRECEDING). Each item begins with the time of the winning bid, so that the list can be sorted by it.
CREATE TABLE q6_auctions AS SELECT id, LATEST_BY_OFFSET(seller) AS seller, LATEST_BY_OFFSET(dateTime) AS opens,
    LATEST_BY_OFFSET(expires) AS expires FROM auction GROUP BY id;
CREATE TABLE q6_winning AS SELECT a.id AS id, LATEST_BY_OFFSET(a.seller) AS seller,
    TOPK(b.price, b.dateTime, 1)[1] AS winning
  FROM bid b JOIN q6_auctions a ON b.auction = a.id
  WHERE b.dateTime BETWEEN a.opens AND a.expires GROUP BY a.id;
CREATE TABLE q6_sold AS SELECT seller, COLLECT_LIST(
    LPAD(CAST(winning->`col0` AS STRING), 15, '0') + ':' + CAST(winning->`sort_col` AS STRING)) AS sold
  FROM q6_winning GROUP BY seller;
CREATE TABLE q6_last AS SELECT seller,
    TRANSFORM(SLICE(ARRAY_SORT(sold, 'DESC'), 1, LEAST(10, ARRAY_LENGTH(sold))), x => CAST(SPLIT(x, ':')[2] AS BIGINT))
      AS prices
  FROM q6_sold;
CREATE TABLE q6 AS SELECT seller, REDUCE(prices, CAST(0 AS DOUBLE), (s, x) => s + x) / ARRAY_LENGTH(prices) AS average
  FROM q6_last;
