/** A statement that sets the timeouts of a connection: PgBouncer refuses them as parameters of its start. */
export const timeouts = (statementMs: number, idleInTransactionMs: number): string =>
  `SET statement_timeout = ${statementMs}; SET idle_in_transaction_session_timeout = ${idleInTransactionMs}`;
