/// The tables of all stores on a server. The article *On-disk formats* has what is in them.
enum PostgresTables {
    /// The version of the tables' contents that is written, and the highest that is read.
    static let format: Int16 = 1

    /// Makes what is missing of the tables, each in a transaction of its own: not every product can make several in one.
    ///
    /// Rows that each write changes leave room beside them, so that a change need not touch the table's index.
    static let statements = texts.enumerated().map { PostgresStatement(name: "hs_table_\($0)", text: $1) }

    private static let texts = [
        """
        CREATE TABLE IF NOT EXISTS hs_store (store uuid PRIMARY KEY, format smallint NOT NULL, name text NOT NULL,
        version bigint NOT NULL, meta bigint NOT NULL, last_writes bytea NOT NULL, token bigint NOT NULL,
        digests bytea NOT NULL, meta_sum bytea NOT NULL) WITH (fillfactor = 50)
        """,
        """
        CREATE TABLE IF NOT EXISTS hs_meta (store uuid NOT NULL, key text NOT NULL, value text NOT NULL,
        PRIMARY KEY (store, key))
        """,
        """
        CREATE TABLE IF NOT EXISTS hs_record (store uuid NOT NULL, entity smallint NOT NULL, id uuid NOT NULL,
        body bytea NOT NULL, PRIMARY KEY (store, entity, id))
        """,
        """
        CREATE TABLE IF NOT EXISTS hs_index (store uuid NOT NULL, number smallint NOT NULL, key bytea NOT NULL,
        id uuid NOT NULL, PRIMARY KEY (store, number, key))
        """,
        """
        CREATE TABLE IF NOT EXISTS hs_history (store uuid NOT NULL, token bigint NOT NULL, sequence integer NOT NULL,
        body bytea NOT NULL, PRIMARY KEY (store, token, sequence))
        """,
        """
        CREATE TABLE IF NOT EXISTS hs_digest (store uuid NOT NULL, entity smallint NOT NULL, first uuid NOT NULL,
        body bytea NOT NULL, PRIMARY KEY (store, entity, first)) WITH (fillfactor = 50)
        """,
        """
        CREATE TABLE IF NOT EXISTS hs_evidence (store uuid NOT NULL, number bigint NOT NULL, line bytea NOT NULL,
        PRIMARY KEY (store, number))
        """,
    ]
}
