import Foundation
@_spi(Engines) import HabitStore
import HabitStoreImport
import HabitStoreMapped
import HabitStoreTesting
import RawStoreFiles

struct Account: PersistentModel, Equatable {
    var id = UUID()
    var title = ""
    var openedAt: Date?
    var isHidden = false
    var parentID: UUID?

    static let entity = EntityDescription(
        Account.self,
        attributes: [
            .id(\Account.id), .attribute("title", \Account.title, .preserveValueOnDeletion),
            .attribute("openedAt", \Account.openedAt),
            .attribute("isHidden", \Account.isHidden), .attribute("parentID", \Account.parentID),
        ]
    )

    init(_ title: String) { self.title = title }

    init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
        title = try row.nextString()
        openedAt = try row.nextOptionalDate()
        isHidden = try row.nextBool()
        parentID = try row.nextOptionalUUID()
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(title)
        try row.append(openedAt)
        row.append(isHidden)
        row.append(parentID)
    }
}

struct Booking: PersistentModel, Equatable {
    var id = UUID()
    var amount = 0
    var day = Date(timeIntervalSince1970: 1_700_000_000)
    var note: String?
    var accountID: UUID?
    var labelIDs: Set<UUID> = []

    static let entity = EntityDescription(
        Booking.self,
        attributes: [
            .id(\Booking.id), .attribute("amount", \Booking.amount), .attribute("day", \Booking.day),
            .attribute("note", \Booking.note), .attribute("accountID", \Booking.accountID),
            .attribute("labelIDs", \Booking.labelIDs),
        ]
    )

    init(_ amount: Int) { self.amount = amount }

    init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
        amount = try row.nextInt()
        day = try row.nextDate()
        note = try row.nextOptionalString()
        accountID = try row.nextOptionalUUID()
        labelIDs = Set(try row.nextLinks())
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(amount)
        try row.append(day)
        row.append(note)
        row.append(accountID)
        row.append(labelIDs)
    }
}

struct Label: PersistentModel, Equatable {
    var id = UUID()
    var name = ""

    static let entity = EntityDescription(Label.self, attributes: [.id(\Label.id), .attribute("name", \Label.name)])

    init(_ name: String) { self.name = name }

    init(row: inout AttributeReader) throws {
        id = try row.nextUUID()
        name = try row.nextString()
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(name)
    }
}

/// An app's file with accounts in a tree, bookings and labels, as GRDB would write it; and the store over it.
final class LedgerApp {
    static let schema = Schema([Account.self, Booking.self, Label.self])

    static let tables = """
        CREATE TABLE account (id INTEGER PRIMARY KEY, title TEXT NOT NULL UNIQUE, opened TEXT, hidden BOOLEAN NOT NULL DEFAULT 0,
            parent_id INTEGER REFERENCES account, cached_total INTEGER);
        CREATE TABLE booking (id INTEGER PRIMARY KEY, amount INTEGER NOT NULL CHECK (amount <> 13), day NOT NULL, note TEXT,
            account_id INTEGER REFERENCES account ON DELETE CASCADE);
        CREATE TABLE label (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL);
        CREATE TABLE booking_label (booking_id INTEGER NOT NULL REFERENCES booking ON DELETE CASCADE,
            label_id INTEGER NOT NULL REFERENCES label ON DELETE CASCADE, PRIMARY KEY (booking_id, label_id)) WITHOUT ROWID;
        CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
        """

    static let rows = """
        INSERT INTO account (id, title, opened, hidden, parent_id) VALUES
            (1, 'Everything', '2019-05-01 08:00:00.250', 0, NULL), (2, 'Cash', NULL, 1, 1), (3, 'Bank', NULL, 0, 1);
        INSERT INTO booking VALUES (1, 100, 1700000000, 'bread', 2), (2, -7, 1700086400.0, NULL, 3), (3, 42, 1700000000.5, 'rent', 3);
        INSERT INTO label VALUES (1, 'food'), (2, 'home');
        INSERT INTO booking_label VALUES (1, 1), (3, 2), (1, 2);
        """

    static let mapping = """
        {"format": 2, "namespace": "ledger", "tables": [
          {"table": "account", "entity": "Account", "excluded": ["cached_total"],
           "attributes": {"title": "title", "openedAt": {"column": "opened", "form": "date grdb"}, "isHidden": "hidden"},
           "relationships": {"parentID": {"columns": "parent_id", "table": "account"}}},
          {"table": "booking", "entity": "Booking",
           "attributes": {"amount": "amount", "day": {"column": "day", "form": "seconds 1970"}, "note": "note"},
           "relationships": {"accountID": {"columns": "account_id", "table": "account"}},
           "links": {"labelIDs": {"table": "booking_label", "here": "booking_id", "there": "label_id", "leadsTo": "label"}}},
          {"table": "label", "entity": "Label", "attributes": {"name": "name"}},
          {"table": "grdb_migrations", "entity": null}
        ]}
        """

    let folder: TemporaryFolder
    let path: String
    let mapping: TableMapping
    private var opened: MappedSQLiteStore?

    /// - Parameters:
    ///   - sql: statements after the tables and rows.
    ///   - hasLog: whether the file is in WAL mode.
    init(_ sql: String = "", hasLog: Bool = true, adopts: Bool = true, mapping: String = LedgerApp.mapping) throws {
        folder = try TemporaryFolder()
        path = folder.path("ledger.sqlite")
        self.mapping = try TableMapping(parsing: Data(mapping.utf8))
        let database = try RawDatabase(path: path)
        if hasLog { try database.execute("PRAGMA journal_mode = WAL") }
        try database.execute(Self.tables + Self.rows + sql)
        database.close()
        if adopts { try adopt() }
    }

    deinit { opened?.close() }

    func adopt() throws { try MappedSQLiteStore.adopt(path, mapping: mapping, schema: Self.schema) }

    /// The store, opened once.
    var store: MappedSQLiteStore {
        get throws {
            if let opened { return opened }
            let store = try open()
            opened = store
            return store
        }
    }

    func open(_ options: MappedSQLiteStore.Options = .init(busyLimitSeconds: 1)) throws -> MappedSQLiteStore {
        try MappedSQLiteStore(path: path, mapping: mapping, schema: Self.schema, options: options)
    }

    func close() {
        opened?.close()
        opened = nil
    }

    /// Runs statements as the app's old code would, on a connection that knows nothing of the store.
    ///
    /// - Returns: the first column of the last statement.
    @discardableResult
    func old(_ sql: String, foreignKeys: Bool = false) throws -> [String] {
        let database = try RawDatabase(path: path)
        defer { database.close() }
        try database.execute("PRAGMA busy_timeout = 2000; PRAGMA foreign_keys = \(foreignKeys ? "ON" : "OFF")")
        guard !sql.hasPrefix("SELECT"), !sql.hasPrefix("PRAGMA journal_mode") else {
            return try database.run(sql)
        }
        try database.execute(sql)
        return []
    }

    /// Everything in the file: declarations, and all rows with the storage class of each value.
    func dump() throws -> [String] {
        let database = try RawDatabase(path: path)
        defer { database.close() }
        var lines = try database.run(
            "SELECT type || ' ' || name || ' ' || tbl_name || ' ' || ifnull(sql, '') FROM sqlite_schema ORDER BY 1"
        )
        for name in try database.run("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1") {
            let columns = try database.run("SELECT name FROM pragma_table_xinfo('\(name)')")
            let values = columns.map { "typeof(\"\($0)\") || ' ' || quote(\"\($0)\")" }.joined(
                separator: " || ', ' || "
            )
            lines += try database.run("SELECT '\(name): ' || \(values) FROM \"\(name)\"").sorted()
        }
        for pragma in ["journal_mode", "page_size", "user_version", "application_id", "auto_vacuum", "encoding"] {
            lines.append(try "\(pragma) \(database.run("PRAGMA \(pragma)"))")
        }
        return lines
    }

    // MARK: Contents of the tables

    /// The records as the app's tables have them, with keys instead of identifiers.
    func rows() throws -> Set<String> {
        let database = try RawDatabase(path: path)
        defer { database.close() }
        // A key that no row ever had has no identifier.
        func known(_ column: String, _ table: String) -> String {
            "ifnull((SELECT k0 FROM habitstore_key_\(table) WHERE k0 = \(column)), iif(\(column) IS NULL, '-', 'unknown'))"
        }
        let labels =
            "SELECT cast(\(known("label_id", "label")) AS TEXT) AS label FROM booking_label WHERE booking_id = booking.id"
        let lines = try database.run(
            """
            SELECT 'account ' || id || ' ' || quote(title) || ' ' || ifnull(strftime('%s', opened), '-') || ' ' || hidden || ' '
                || \(known("parent_id", "account")) FROM account
            UNION ALL SELECT 'booking ' || id || ' ' || amount || ' ' || cast(day AS INTEGER) || ' ' || quote(note) || ' '
                || \(known("account_id", "account")) || ' '
                || ifnull((SELECT group_concat(label) FROM (\(labels) ORDER BY 1)), '') FROM booking
            UNION ALL SELECT 'label ' || id || ' ' || quote(name) FROM label
            """
        )
        return Set(
            lines.map { line in
                guard line.hasPrefix("booking"), let space = line.lastIndex(of: " ") else { return line }
                return line[...space] + line[space...].dropFirst().split(separator: ",").sorted().joined(separator: ",")
            }
        )
    }

    /// The records as the store reads them, in the same form.
    func records() throws -> Set<String> {
        let store = try store
        let (accounts, bookings, labels) = try store.read {
            (try $0.all(Account.self), try $0.all(Booking.self), try $0.all(Label.self))
        }
        let database = try RawDatabase(path: path)
        defer { database.close() }
        func keys(_ table: String) throws -> [String: Int] {
            let pairs = try database.run("SELECT hex(id) || ' ' || k0 FROM habitstore_key_\(table)").map {
                $0.split(separator: " ")
            }
            return Dictionary(uniqueKeysWithValues: pairs.map { (String($0[0]), Int($0[1]) ?? .min) })
        }
        let known = (account: try keys("account"), booking: try keys("booking"), label: try keys("label"))
        func key(_ id: UUID?, _ keys: [String: Int]) -> String {
            guard let id else { return "-" }
            return keys[id.uuidString.replacingOccurrences(of: "-", with: "")].map { String($0) } ?? "unknown"
        }
        func quoted(_ text: String?) -> String {
            text.map { "'" + $0.replacingOccurrences(of: "'", with: "''") + "'" } ?? "NULL"
        }
        var lines = Set<String>()
        for account in accounts {
            let opened = account.openedAt.map { String(Int($0.timeIntervalSince1970.rounded(.down))) } ?? "-"
            lines.insert(
                "account \(key(account.id, known.account)) \(quoted(account.title)) \(opened) \(account.isHidden ? 1 : 0) "
                    + key(account.parentID, known.account)
            )
        }
        for booking in bookings {
            let labels = booking.labelIDs.map { key($0, known.label) }.sorted()
                .joined(separator: ",")
            lines.insert(
                "booking \(key(booking.id, known.booking)) \(booking.amount) \(Int(booking.day.timeIntervalSince1970)) "
                    + "\(quoted(booking.note)) \(key(booking.accountID, known.account)) \(labels)"
            )
        }
        for label in labels { lines.insert("label \(key(label.id, known.label)) \(quoted(label.name))") }
        return lines
    }
}
