"""Session analytics: user_clicks -> session_analytics."""
