/** SQL that sets the timeouts of a connection, because PgBouncer refuses them as start parameters. */
export const timeouts = (statementMs: number, idleInTransactionMs: number): string =>
  `SET statement_timeout = ${statementMs}; SET idle_in_transaction_session_timeout = ${idleInTransactionMs}`;
