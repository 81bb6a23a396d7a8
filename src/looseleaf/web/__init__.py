"""The web server: REST for agents and programs, a way in for people."""
