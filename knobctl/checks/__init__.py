"""Checks: what the schemas, the policies and the waivers say of documents."""
