"""Tools that models call: the list, names, access, calls, results and providers' formats."""
