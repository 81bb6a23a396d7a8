"""SQLAlchemy's object mapper, which the engine uses, loaded whole before threads begin.

While one thread imports it, other threads that use the rest of SQLAlchemy can fail: it registers
functions there that need modules which are not loaded yet.
"""

from __future__ import annotations

import sqlalchemy.orm

NAME = sqlalchemy.orm.__name__
