"""Price join: menu_prices x food_orders -> food_bills."""
