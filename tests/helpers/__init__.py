"""What tests build and run: functions, and so no fixtures. See the README of the tests."""
