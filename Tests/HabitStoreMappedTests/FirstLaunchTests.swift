import DurableFiles
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreImport
import HabitStoreLMDB
import HabitStoreMapped
import HabitStoreRollout
import HabitStoreSQLite
import HabitStoreTesting
import RawStoreFiles
import Testing

/// The way in fails for each of many causes: the old file serves, the record says why in one line, and the launch after the cause is gone brings
/// everything over.
@Suite(.timeLimit(.minutes(5))) struct FirstLaunchTests {
    struct Cause: Sendable, CustomTestStringConvertible {
        let name: String
        let code: HabitStoreError.Code
        /// Words of the reason.
        let words: String
        var hasLog = true
        let plant: @Sendable (LaunchApp) throws -> Void
        /// Removes the cause; without it, the test puts the old file, the mapping and the paths back.
        var cure: (@Sendable (LaunchApp) throws -> Void)?

        var testDescription: String { name }
    }

    private static func write(_ bytes: [UInt8], _ path: String, at offset: Int) throws {
        let handle = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        defer { try? handle.close() }
        try handle.seek(toOffset: UInt64(offset))
        try handle.write(contentsOf: bytes)
    }

    /// Puts other bytes in the place of the old file and its log.
    private static func replace(_ launch: LaunchApp, with data: Data?) throws {
        for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: launch.app.path + suffix) }
        try FileManager.default.removeItem(atPath: launch.app.path)
        if let data { try data.write(to: URL(fileURLWithPath: launch.app.path)) }
    }

    private static func bytes(_ launch: LaunchApp) throws -> Data {
        try Data(contentsOf: URL(fileURLWithPath: launch.app.path))
    }

    /// Changes the app's file with its old code's own connection.
    private static func sql(_ statements: String) -> @Sendable (LaunchApp) throws -> Void {
        { try $0.app.old(statements) }
    }

    private static func mapping(_ old: String, _ new: String) -> @Sendable (LaunchApp) throws -> Void {
        { launch in
            let text = LedgerApp.mapping.replacingOccurrences(of: old, with: new)
            launch.mapping = try TableMapping(parsing: Data(text.utf8))
        }
    }

    private static let file: [Cause] = [
        Cause(name: "no file", code: .notFound, words: "there is no old file here") {
            $0.file = $0.app.folder.path("elsewhere.sqlite")
        },
        Cause(name: "file was here before", code: .notFound, words: "was here at an earlier launch") { launch in
            launch.missing = .isANewUser
            try sql("ALTER TABLE label RENAME TO tag")(launch)
            guard case .oldFile = try launch.open() else { return }
            try replace(launch, with: nil)
        },
        Cause(name: "a link that leads nowhere", code: .notFound, words: "cannot be reached") { launch in
            launch.missing = .isANewUser
            launch.file = launch.app.folder.path("link.sqlite")
            try FileManager.default.createSymbolicLink(atPath: launch.file, withDestinationPath: "nowhere")
        },
        Cause(name: "a file in place of a folder", code: .notFound, words: "cannot be reached") { launch in
            launch.missing = .isANewUser
            launch.file = launch.app.path + "/ledger.sqlite"
        },
        Cause(name: "a folder", code: .notAStore, words: "not a regular file") {
            $0.file = $0.app.folder.path
        },
        Cause(name: "an empty file", code: .notAStore, words: "the file is empty") {
            try replace($0, with: Data())
        },
        Cause(name: "a text", code: .notAStore, words: "not a SQLite database") {
            try replace($0, with: Data(String(repeating: "no database ", count: 100).utf8))
        },
        Cause(name: "an encrypted file", code: .notAStore, words: "or it is encrypted") { launch in
            try replace(launch, with: Data(try bytes(launch).map { $0 ^ 0x5A }))
        },
        Cause(name: "cut off", code: .corrupt, words: "") { launch in
            try replace(launch, with: try bytes(launch).prefix(3 * 4_096))
        },
        Cause(name: "a damaged page", code: .corrupt, words: "damaged") { launch in
            var data = try bytes(launch)
            for place in 4_096..<8_192 { data[place] ^= 0xA5 }
            try replace(launch, with: data)
        },
        Cause(name: "a page size that is none", code: .corrupt, words: "") { launch in
            try write([0x12, 0x34], launch.app.path, at: 16)
        },
        Cause(name: "a log of another file", code: .corrupt, words: "-wal") { launch in
            try Data(repeating: 7, count: 5_000).write(to: URL(fileURLWithPath: launch.app.path + "-wal"))
        },
        Cause(name: "a log that was cut off", code: .corrupt, words: "-wal") { launch in
            // Another program is at work, so that its log stays.
            let writer = try RawDatabase(path: launch.app.path)
            try writer.execute("PRAGMA wal_autocheckpoint = 0; UPDATE label SET name = name || '!'")
            let log = try Data(contentsOf: URL(fileURLWithPath: launch.app.path + "-wal"))
            let data = try bytes(launch)
            writer.close()
            try replace(launch, with: data)
            try log.prefix(log.count - 100).write(to: URL(fileURLWithPath: launch.app.path + "-wal"))
        },
        Cause(name: "a Core Data file", code: .unsupported, words: "Core Data") { launch in
            try launch.app.old("CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR, Z_PLIST BLOB)")
        },
        Cause(name: "adopted in place", code: .unsupported, words: "store already") { try $0.app.adopt() },
        Cause(name: "a writer at work, with a log", code: .busy, words: "writing to it") { launch in
            let writer = try RawDatabase(path: launch.app.path)
            try writer.execute("BEGIN IMMEDIATE")
            launch.keep(writer)
        },
        Cause(name: "a writer at work, with a journal", code: .busy, words: "writing to it", hasLog: false) { launch in
            let writer = try RawDatabase(path: launch.app.path)
            try writer.execute("BEGIN IMMEDIATE")
            launch.keep(writer)
        },
        Cause(name: "a file that is locked", code: .busy, words: "writing to it", hasLog: false) { launch in
            let writer = try RawDatabase(path: launch.app.path)
            try writer.execute("BEGIN EXCLUSIVE")
            launch.keep(writer)
        },
        Cause(name: "written to all the time", code: .busy, words: "being written to") { $0.writeAllTheTime() },
    ]

    private static let versions: [Cause] = [
        Cause(
            name: "a newer version's column",
            code: .invalidValue,
            words: "label.color is neither mapped nor excluded",
            plant: sql("ALTER TABLE label ADD COLUMN color TEXT")
        ),
        Cause(
            name: "a newer version's table",
            code: .invalidValue,
            words: "neither mapped nor left out",
            plant: sql("CREATE TABLE budget (id INTEGER PRIMARY KEY)")
        ),
        Cause(
            name: "a renamed column",
            code: .invalidValue,
            words: "has no column",
            plant: sql("ALTER TABLE account RENAME COLUMN title TO name")
        ),
        Cause(
            name: "an older version without a table",
            code: .invalidValue,
            words: "has no table",
            plant: sql("DROP TABLE booking_label; DROP TABLE label")
        ),
        Cause(
            name: "a key that is no key any more",
            code: .invalidValue,
            words: "no primary key",
            plant: sql(
                "CREATE TABLE other AS SELECT * FROM label; INSERT INTO other SELECT * FROM label; DROP TABLE label; "
                    + "ALTER TABLE other RENAME TO label"
            )
        ),
        Cause(
            name: "a text in a column of dates",
            code: .invalidValue,
            words: "have a value that is not day",
            plant: sql("UPDATE booking SET day = 'yesterday' WHERE id = 2")
        ),
        Cause(
            name: "nothing where a value is needed",
            code: .invalidValue,
            words: "have a value that is not",
            plant: sql("INSERT INTO booking VALUES (9, 1, '', NULL, NULL)")
        ),
        Cause(
            name: "an open question",
            code: .invalidValue,
            words: "an open question",
            plant: mapping(
                #""attributes": {"name": "name"}}"#,
                #""attributes": {"name": "name"}, "questions": ["is it?"]}"#
            )
        ),
        Cause(
            name: "an entity that the schema does not have",
            code: .invalidValue,
            words: "the schema has no entity",
            plant: mapping(#""entity": "Label""#, #""entity": "Lable""#)
        ),
        Cause(
            name: "a form that is another",
            code: .invalidValue,
            words: "have a value that is not",
            plant: mapping("date grdb", "date iso8601")
        ),
    ]

    private static let destination: [Cause] = [
        Cause(name: "a folder that is missing", code: .notFound, words: "") {
            $0.storePath = $0.app.folder.path("missing/new.sqlite")
        },
        Cause(name: "a text in place of the store", code: .notAStore, words: "") { launch in
            try "no store".write(toFile: launch.storePath, atomically: true, encoding: .utf8)
        } cure: {
            try FileManager.default.removeItem(atPath: $0.storePath)
        },
        Cause(name: "another program's file in place of the store", code: .notAStore, words: "") { launch in
            let other = try RawDatabase(path: launch.storePath)
            try other.execute("CREATE TABLE theirs (id INTEGER PRIMARY KEY)")
            other.close()
        } cure: {
            try FileManager.default.removeItem(atPath: $0.storePath)
        },
        Cause(name: "a store of another schema", code: .schemaMismatch, words: "") { launch in
            let schema = Schema([Label.self])
            try SQLiteHabitStore(path: launch.storePath, schema: schema, access: .create).close()
        } cure: {
            try FileManager.default.removeItem(atPath: $0.storePath)
        },
        Cause(name: "a user's store in a rollout", code: .notAuthoritative, words: "a rollout has this store") {
            try role(.sealed, epoch: 3, nil, $0)
        } cure: {
            try FileManager.default.removeItem(atPath: $0.storePath)
        },
        Cause(name: "an unfinished copy", code: .unsupported, words: "a copy into this store is not finished") {
            try role(.backfilling, epoch: 0, #"{"entity":2}"#, $0)
        } cure: {
            try FileManager.default.removeItem(atPath: $0.storePath)
        },
        Cause(name: "a store that is being written to", code: .busy, words: "") { launch in
            try SQLiteHabitStore(path: launch.storePath, schema: launch.schema, access: .create).close()
            let writer = try RawDatabase(path: launch.storePath)
            try writer.execute("BEGIN IMMEDIATE")
            launch.keep(writer)
        },
        Cause(name: "a record that cannot be written", code: .notFound, words: "launch record") {
            $0.recordFolder = "missing"
        } cure: {
            $0.recordFolder = ""
        },
        Cause(name: "another process at work", code: .busy, words: "another process is bringing the records over") {
            launch in
            try launch.lockRecord()
        },
    ]

    private static func role(_ role: StoreRole, epoch: Int, _ state: String?, _ launch: LaunchApp) throws {
        let store = try SQLiteHabitStore(path: launch.storePath, schema: launch.schema, access: .create)
        defer { store.close() }
        try store.replicate {
            try $0.setRole(role, epoch: epoch)
            try $0.setBackfillState(state)
        }
    }

    @Test(arguments: file + versions + destination)
    func theOldFileServesUntilTheCauseIsGone(_ cause: Cause) throws {
        let launch = try LaunchApp(.sqlite, hasLog: cause.hasLog)
        let (original, mapping, storePath) = (try Self.bytes(launch), launch.mapping, launch.storePath)
        try cause.plant(launch)
        let files = launch.files
        guard case .oldFile(let record) = try launch.open() else { return #expect(Bool(false), "a store serves") }
        #expect(record.reason?.code == cause.code.rawValue, "\(record.reason?.message ?? "")")
        #expect(
            cause.words.isEmpty || record.reason?.message.contains(cause.words) == true,
            "\(record.reason?.message ?? "")"
        )
        #expect(record.reason?.message.contains("\n") == false && record.state == .waiting)
        // The launch has not changed the file; only the old code's own work may.
        if launch.isFileStill { #expect(launch.files == files) }
        if let written = try launch.launch.record { #expect(written == record) }

        launch.release()
        if let cure = cause.cure { try cure(launch) }
        for suffix in ["", "-wal", "-shm", "-journal"] {
            try? FileManager.default.removeItem(atPath: launch.app.path + suffix)
        }
        try original.write(to: URL(fileURLWithPath: launch.app.path))
        (launch.file, launch.mapping, launch.storePath) = (launch.app.path, mapping, storePath)
        guard case .store(let store, let after) = try launch.open() else {
            return #expect(Bool(false), "\(launch.reason ?? "")")
        }
        defer { store.close() }
        #expect(after.state == .moved && after.reason == nil && after.writtenSince == nil)
        #expect(try LaunchApp.records(store) == launch.rows())
        #expect(after.records == ["Account": 3, "Booking": 3, "Label": 2])
    }

    /// Whoever never had a file begins with an empty store; that a file appears later is seen.
    @Test func aNewUserBeginsEmpty() throws {
        let launch = try LaunchApp()
        (launch.file, launch.missing) = (launch.app.folder.path("later.sqlite"), .isANewUser)
        guard case .store(let store, let record) = try launch.open() else { return #expect(Bool(false)) }
        #expect(record.state == .moved && record.records == nil)
        try store.save(Label("mine"))
        store.close()
        try FileManager.default.copyItem(atPath: launch.app.path, toPath: launch.file)
        guard case .store(let again, let later) = try launch.open() else { return #expect(Bool(false)) }
        defer { again.close() }
        #expect(try LaunchApp.records(again) == ["label mine"] && later.writtenSince != nil)
        // The store has records: they stay, and those of the file come to them.
        let work = try TableImport(try TableFile(path: launch.file), launch.mapping, schema: launch.schema)
        let report = try work.merge(into: again, notes: launch.storePath)
        #expect(report.isVerified && report.merged?.inserted == 8, "\(report.differences)")
        #expect(try LaunchApp.records(again) == launch.rows().union(["label mine"]))
    }

    /// A row that the old code writes while a launch reads is not lost, and each engine says the same.
    @Test(arguments: LaunchApp.Engine.allCases)
    func whatIsWrittenMeanwhileComesToo(_ engine: LaunchApp.Engine) throws {
        let launch = try LaunchApp(engine)
        launch.whileReading = {
            try launch.app.old(
                "INSERT INTO label (name) VALUES ('late'); DELETE FROM label WHERE id = 1",
                foreignKeys: true
            )
        }
        guard case .store(let store, let record) = try launch.open() else { return #expect(Bool(false)) }
        defer { store.close() }
        let records = try LaunchApp.records(store)
        #expect(try records == launch.rows() && records.contains("label late") && !records.contains("label food"))
        #expect(record.attempts == 1 && record.records?["Label"] == 2)
    }

    /// The record's schema is for those who read it by other means.
    @Test func theRecordIsAsItsSchemaSays() throws {
        let launch = try LaunchApp()
        guard case .store(let store, _) = try launch.open() else { return #expect(Bool(false)) }
        store.close()
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        func object(_ path: URL) throws -> [String: Any] {
            try #require(try JSONSerialization.jsonObject(with: Data(contentsOf: path)) as? [String: Any])
        }
        let schema = try object(root.appendingPathComponent("schemas/launch-record.schema.json"))
        let record = try object(URL(fileURLWithPath: launch.launch.recordPath))
        let known = try #require(schema["properties"] as? [String: [String: Any]])
        #expect(
            Set(record.keys).isSubset(of: known.keys)
                && Set(schema["required"] as? [String] ?? []).isSubset(of: record.keys)
        )
        #expect(known["state"]?["enum"] as? [String] == LaunchRecord.State.allCases.map(\.rawValue))
        let source = try #require(record["source"] as? [String: Any])
        #expect(Set(source.keys) == Set((known["source"]?["properties"] as? [String: Any] ?? [:]).keys))
    }

    /// What old code writes later is reported, and an unchanged file that was only touched is not.
    @Test func whatOldCodeWritesAfterwardsIsSeen() throws {
        let launch = try LaunchApp()
        func look() throws -> LaunchRecord {
            guard case .store(let store, let record) = try launch.open() else { throw HabitStoreError(.busy, "waits") }
            store.close()
            return record
        }
        #expect(try look().writtenSince == nil)
        // An excluded column, a checkpoint, and a change that was taken back.
        try launch.app.old(
            "UPDATE account SET cached_total = 5; INSERT INTO label VALUES (7, 'x'); DELETE FROM label WHERE id = 7"
        )
        try launch.app.old("PRAGMA wal_checkpoint(TRUNCATE)")
        let touched = try look()
        #expect(touched.writtenSince == nil && touched.reason == nil)
        try launch.app.old("UPDATE label SET name = 'house' WHERE id = 2")
        #expect(try look().writtenSince != nil)
        #expect(try look().writtenSince != nil && look().state == .moved)
        try FileManager.default.removeItem(atPath: launch.app.path)
        #expect(try look().state == .moved)
    }

    /// A store that is missing, or another one, is not replaced by an empty one or by the outdated file.
    @Test(arguments: ["missing", "another", "emptied"])
    func aStoreThatIsNotTheOneServesNobody(_ what: String) throws {
        let launch = try LaunchApp()
        guard case .store(let store, _) = try launch.open() else { return #expect(Bool(false)) }
        store.close()
        let away = launch.app.folder.path("away")
        try FileManager.default.moveItem(atPath: launch.storePath, toPath: away)
        func removeStore() {
            for suffix in ["", "-wal", "-shm", "-lock"] {
                try? FileManager.default.removeItem(atPath: launch.storePath + suffix)
            }
        }
        removeStore()
        if what != "missing" {
            let other = try SQLiteHabitStore(path: launch.storePath, schema: launch.schema, access: .create)
            if what == "another" { try other.save(Label("theirs")) }
            other.close()
        }
        let error = #expect(throws: HabitStoreError.self) { try launch.open() }
        #expect(error?.code == .staleStore && error?.message.contains(launch.launch.recordPath) == true)
        // The record said that the store serves.
        #expect(try launch.launch.record?.failure?.code == "staleStore")
        removeStore()
        try FileManager.default.moveItem(atPath: away, toPath: launch.storePath)
        guard case .store(let back, let record) = try launch.open() else { return #expect(Bool(false)) }
        back.close()
        #expect(try record.failure == nil && launch.launch.record == record)
    }

    /// A record that cannot be read says nothing about which of both is newer.
    @Test(arguments: [("{", HabitStoreError.Code.corrupt), ("", .corrupt), (#"{"format": 2}"#, .newerVersion)])
    func aDamagedRecordIsAnError(_ text: String, _ code: HabitStoreError.Code) throws {
        let launch = try LaunchApp()
        try text.write(toFile: launch.launch.recordPath, atomically: true, encoding: .utf8)
        #expect(errorCode { _ = try launch.open() } == code)
        #expect(!FileManager.default.fileExists(atPath: launch.storePath))
    }

    /// What a killed attempt has stored is kept, what the file no longer has goes, and no reader sees any of it.
    @Test(arguments: LaunchApp.Engine.allCases)
    func anAttemptThatFailedLateIsContinued(_ engine: LaunchApp.Engine) throws {
        let launch = try LaunchApp(engine)
        let writer = try RawDatabase(path: launch.app.path)
        try writer.execute("BEGIN IMMEDIATE")
        guard case .oldFile(let record) = try launch.open() else { return #expect(Bool(false)) }
        #expect(record.reason?.code == "busy")
        let half = try launch.store()
        #expect(errorCode { _ = try half.all(Label.self) } != nil)
        #expect(try half.replicaRead { try $0.count(entity: 2) } == 2)
        half.close()
        try writer.execute(
            "DELETE FROM booking_label; DELETE FROM label WHERE id = 2; UPDATE label SET name = 'drink'; COMMIT"
        )
        writer.close()
        guard case .store(let store, let after) = try launch.open() else { return #expect(Bool(false)) }
        defer { store.close() }
        #expect(try LaunchApp.records(store) == launch.rows())
        #expect(after.attempts == 2 && after.records?["Label"] == 1)
    }

    /// A form that no row has made an empty store that was equal to the file.
    @Test func aStoreOfWhichMostIsSetAsideServesNobody() throws {
        let launch = try LaunchApp()
        launch.options.allowsAside = true
        try launch.app.old("UPDATE booking SET day = 'then'; UPDATE account SET hidden = 'no'")
        guard case .oldFile(let record) = try launch.open() else { return #expect(Bool(false)) }
        #expect(record.reason?.message.contains("most rows, 6,") == true, "\(record)")
        try launch.app.old("UPDATE account SET hidden = 0; UPDATE booking SET day = 5 WHERE id > 1")
        guard case .store(let store, let after) = try launch.open() else { return #expect(Bool(false)) }
        defer { store.close() }
        #expect(after.setAside == 1 && after.records == ["Account": 3, "Booking": 2, "Label": 2])
    }

    /// What old code did is asked once, and later writes are seen again.
    @Test func oldWritesAreAcknowledged() throws {
        let launch = try LaunchApp()
        func look() throws -> LaunchRecord {
            guard case .store(let store, let record) = try launch.open() else { throw HabitStoreError(.busy, "waits") }
            store.close()
            return record
        }
        _ = try look()
        try launch.app.old("UPDATE label SET name = 'house' WHERE id = 2")
        #expect(try look().writtenSince != nil)
        try launch.launch.acknowledgeOldWrites(by: launch.mapping, schema: launch.schema)
        #expect(try look().writtenSince == nil)
        try launch.app.old("UPDATE label SET name = 'home' WHERE id = 2")
        #expect(try look().writtenSince != nil)
        // With another mapping the rows are others.
        try launch.launch.acknowledgeOldWrites(by: launch.mapping, schema: launch.schema)
        launch.mapping = try TableMapping(
            parsing: Data(
                LedgerApp.mapping.replacingOccurrences(
                    of: #""note": "note"}"#,
                    with: #""note": {"column": "note", "null": [""]}}"#
                ).utf8
            )
        )
        try launch.app.old("PRAGMA user_version = 7")
        let changed = try look()
        #expect(changed.writtenSince == nil && changed.reason?.code == "schemaMismatch")
    }

    /// A launch was killed when the store had just taken effect, and then the file vanished: nothing but the store has the records.
    @Test func aFilledStoreServesIfTheFileHasVanished() throws {
        let launch = try LaunchApp()
        let rows = try launch.rows()
        guard case .store(let store, _) = try launch.open() else { return #expect(Bool(false)) }
        store.close()
        let path = launch.launch.recordPath
        let record = try String(contentsOfFile: path, encoding: .utf8)
        try record.replacing(#""moved""#, with: #""finishing""#).write(toFile: path, atomically: true, encoding: .utf8)
        try FileManager.default.removeItem(atPath: launch.app.path)
        guard case .store(let again, let after) = try launch.open() else {
            return #expect(Bool(false), "\(launch.reason ?? "")")
        }
        defer { again.close() }
        #expect(try after.state == .moved && LaunchApp.records(again) == rows)
    }

    // MARK: In place

    /// A user whose records are in a store for long: a launch that fails does not go back to the outdated file.
    @Test func anOutdatedFileServesNobody() throws {
        let launch = try LaunchApp()
        try launch.app.adopt()
        try launch.app.old("INSERT INTO habitstore_metadata (key, value) VALUES ('mapped.fence', '1')")
        struct Failure: Error {}
        #expect(throws: Failure.self) { try launch.launch.open(inPlace: { () throws -> LedgerApp in throw Failure() }) }
        // An import moved the records: the file is not opened in place any more; and the other way round.
        let (one, two) = (try LaunchApp(), try LaunchApp())
        guard case .store(let store, _) = try one.open() else { return #expect(Bool(false)) }
        store.close()
        #expect(errorCode { _ = try self.inPlace(one) } == .staleStore)
        guard case .store(let other, _) = try inPlace(two) else { return #expect(Bool(false)) }
        other.close()
        #expect(errorCode { _ = try two.open() } == .staleStore)
    }

    private func inPlace(_ launch: LaunchApp) throws -> FirstLaunch.Outcome<any UserStoreBackend> {
        let file = launch.file
        let provider = MappedSQLiteProvider(mapping: launch.mapping, file: { _ in file }, adoptsFiles: true)
        return try launch.launch.open(inPlace: { try provider.open(file, schema: launch.schema, access: .create) })
    }

    /// A store that serves the file in place opens, or the old code goes on with the file as it is.
    @Test(
        arguments: (file + versions).filter {
            !["an unfinished copy", "adopted in place", "written to all the time"].contains($0.name)
        }
    )
    func aFileThatCannotBeAdoptedIsTheAppsAsBefore(_ cause: Cause) throws {
        let launch = try LaunchApp(.sqlite, hasLog: cause.hasLog)
        let (original, mapping) = (try Self.bytes(launch), launch.mapping)
        guard cause.name != "file was here before" else { return }
        try cause.plant(launch)
        switch try inPlace(launch) {
        case .store(let store, _):
            // SQLite itself passes over a log that is none, as the app's old code does.
            store.close()
            #expect(cause.words == "-wal")
        case .oldFile(let record):
            #expect(record.reason != nil && record.reason?.message.contains("\n") == false && record.state == .waiting)
        }
        launch.release()
        for suffix in ["", "-wal", "-shm", "-journal"] {
            try? FileManager.default.removeItem(atPath: launch.app.path + suffix)
        }
        try original.write(to: URL(fileURLWithPath: launch.app.path))
        (launch.file, launch.mapping) = (launch.app.path, mapping)
        try? FileManager.default.removeItem(atPath: launch.launch.recordPath)
        guard case .store(let store, let record) = try inPlace(launch) else { return #expect(Bool(false)) }
        defer { store.close() }
        #expect(try record.state == .moved && LaunchApp.records(store) == launch.rows())
        store.close()
        try FileManager.default.removeItem(atPath: launch.app.path)
        #expect(errorCode { _ = try self.inPlace(launch) } == .notFound)
        #expect(throws: HabitStoreError.self) {
            try launch.launch.open(
                inPlace: { () throws -> LedgerApp in throw HabitStoreError(.full, "opened") },
                needsFile: false
            )
        }
    }
}
