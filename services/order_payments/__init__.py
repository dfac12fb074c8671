"""Order payments: placed_orders x payments -> order_payments."""
