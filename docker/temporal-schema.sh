#!/bin/sh
# Makes Temporal's two databases, or brings them to the version of this image. Safe to repeat.
# Where and who comes from SQL_PLUGIN, SQL_HOST, SQL_PORT, SQL_USER and SQL_PASSWORD, which the tool reads itself.
set -eu

for database in temporal:temporal temporal_visibility:visibility; do
  export SQL_DATABASE="${database%%:*}"
  temporal-sql-tool create-database
  temporal-sql-tool setup-schema --version 0.0
  temporal-sql-tool update-schema --schema-name "postgresql/v12/${database##*:}"
done
