"""The steps, in order; `NEWEST` in `postgres_schema` names the last."""
