"""The web server: REST for agents and programs, sign-in and the admin site for people."""
