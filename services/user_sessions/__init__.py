"""User sessions: user_activity -> user_session_stats."""
