import DurableFiles
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreImport
import HabitStoreLMDB
import HabitStoreSQLite
import HabitStoreTesting
import RawStoreFiles

/// An app with an old file, and the store that is to replace it.
final class LaunchApp {
    enum Engine: CaseIterable { case sqlite, lmdb }

    let app: LedgerApp
    let engine: Engine
    /// Whose destination may be another one than the app's.
    var storePath: String
    var file: String
    var mapping: TableMapping
    var schema = LedgerApp.schema
    var missing = FirstLaunch.MissingFile.isAnError
    var options = TableImport.Options()
    /// Called between reading the file and the records' taking effect.
    var whileReading: () throws -> Void = {}
    /// Below the app's folder.
    var recordFolder = ""
    /// Whether nobody but the launch changes the file.
    private(set) var isFileStill = true
    private var kept: [RawDatabase] = []
    private var lock: RecordLock?
    private var writer: Thread?

    private final class RecordLock {
        private let file: LockedFile
        init(_ path: String) throws { file = try LockedFile(path, timeoutSeconds: 0) }
    }

    init(_ engine: Engine = .sqlite, hasLog: Bool = true, _ sql: String = "") throws {
        app = try LedgerApp(sql, hasLog: hasLog, adopts: false)
        (self.engine, file, mapping) = (engine, app.path, app.mapping)
        storePath = app.folder.path("new.\(engine)")
    }

    var launch: FirstLaunch {
        FirstLaunch(
            of: file,
            record: app.folder.path(recordFolder.isEmpty ? "me.launch.json" : "\(recordFolder)/me.launch.json"),
            whenMissing: missing,
            waitSeconds: 0.2
        )
    }

    func open() throws -> FirstLaunch.Outcome<any UserStoreBackend> {
        switch engine {
        case .sqlite:
            try open {
                try SQLiteHabitStore(path: storePath, schema: schema, options: .init(busyLimitSeconds: 0.2))
            }
        case .lmdb: try open { try LMDBHabitStore(path: storePath, schema: schema, access: .create) }
        }
    }

    private func open<Store: UserStoreBackend>(_ store: () throws -> Store) throws
        -> FirstLaunch.Outcome<any UserStoreBackend>
    {
        let outcome = try launch.open(by: mapping, schema: schema, options: options) {
            try whileReading()
            return try store()
        }
        return switch outcome {
        case .store(let store, let record): .store(store, record)
        case .oldFile(let record): .oldFile(record)
        }
    }

    /// Keeps a connection of another program open until the next launch is over.
    func keep(_ database: RawDatabase) { kept.append(database) }

    /// Works on the record as another process would.
    func lockRecord() throws { lock = try RecordLock(launch.recordPath + ".lock") }

    /// Writes to the file as old code would, without a pause.
    func writeAllTheTime() {
        isFileStill = false
        let path = app.path
        let thread = Thread {
            guard let database = try? RawDatabase(path: path) else { return }
            while !Thread.current.isCancelled {
                try? database.execute("UPDATE account SET cached_total = ifnull(cached_total, 0) + 1")
                Thread.sleep(forTimeInterval: 0.002)
            }
            database.close()
        }
        thread.start()
        writer = thread
    }

    func release() {
        writer?.cancel()
        while writer?.isFinished == false { Thread.sleep(forTimeInterval: 0.01) }
        (writer, lock) = (nil, nil)
        for database in kept { database.close() }
        kept = []
    }

    /// Why the old file serves.
    var reason: String? { try? launch.record?.reason?.message }

    /// The store, made if there is none.
    func created() throws -> any UserStoreBackend {
        switch engine {
        case .sqlite: try SQLiteHabitStore(path: storePath, schema: schema)
        case .lmdb: try LMDBHabitStore(path: storePath, schema: schema)
        }
    }

    /// The store as it is.
    func store() throws -> any UserStoreBackend {
        switch engine {
        case .sqlite: try SQLiteHabitStore(path: storePath, schema: schema, access: .readWrite)
        case .lmdb: try LMDBHabitStore(path: storePath, schema: schema, access: .readWrite)
        }
    }

    /// The bytes of the old file and its log.
    var files: [Data?] {
        ["", "-wal"].map { FileManager.default.contents(atPath: app.path + $0) }.map { $0?.isEmpty == true ? nil : $0 }
    }

    // MARK: Contents

    /// The records in the old file, by the names of what they refer to.
    func rows() throws -> Set<String> { Set(try app.old(Self.contents)) }

    private static let contents = """
        SELECT 'account ' || title || ' ' || ifnull(strftime('%s', opened), '-') || ' ' || hidden || ' '
            || ifnull((SELECT title FROM account AS p WHERE p.id = account.parent_id), '-') FROM account
        UNION ALL SELECT 'booking ' || amount || ' ' || cast(day AS INTEGER) || ' ' || ifnull(note, '-') || ' '
            || ifnull((SELECT title FROM account WHERE id = account_id), '-') || ' '
            || ifnull((SELECT group_concat(name) FROM (SELECT name FROM booking_label JOIN label ON label.id = label_id
                WHERE booking_id = booking.id ORDER BY name)), '') FROM booking
        UNION ALL SELECT 'label ' || name FROM label
        """

    /// The records in a store, in the same form.
    static func records(_ store: any HabitStore) throws -> Set<String> {
        let (accounts, bookings, labels) = try store.read {
            (try $0.all(Account.self), try $0.all(Booking.self), try $0.all(Label.self))
        }
        let titles = Dictionary(accounts.map { ($0.id, $0.title) }, uniquingKeysWith: { first, _ in first })
        let names = Dictionary(labels.map { ($0.id, $0.name) }, uniquingKeysWith: { first, _ in first })
        func title(_ id: UUID?) -> String { id.map { titles[$0] ?? "missing" } ?? "-" }
        return Set(
            accounts.map { account in
                let opened = account.openedAt.map { String(Int($0.timeIntervalSince1970.rounded(.down))) } ?? "-"
                return "account \(account.title) \(opened) \(account.isHidden ? 1 : 0) \(title(account.parentID))"
            }
                + bookings.map { booking in
                    let labels = booking.labelIDs.map { names[$0] ?? "missing" }.sorted().joined(separator: ",")
                    return "booking \(booking.amount) \(Int(booking.day.timeIntervalSince1970)) \(booking.note ?? "-") "
                        + "\(title(booking.accountID)) \(labels)"
                } + labels.map { "label \($0.name)" }
        )
    }
}
