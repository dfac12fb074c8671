"""Order stores: order_events -> order_processing_results, by way of three stores with three different keys."""
