"""Order stores: order_events -> order_processing_results, with three stores that have three different keys."""
