"""Texts of pages: comments, hidden characters, line differences, managed blocks."""
