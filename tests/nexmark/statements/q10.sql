-- Log the bids under their day and minute.
CREATE STREAM q10 AS SELECT auction, bidder, price, dateTime, extra,
    FORMAT_TIMESTAMP(FROM_UNIXTIME(dateTime), 'yyyy-MM-dd') AS day,
    FORMAT_TIMESTAMP(FROM_UNIXTIME(dateTime), 'HH:mm') AS minute FROM bid;
