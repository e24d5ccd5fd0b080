import Foundation
import GRDB

/// The app's file as it has been for years: tables made and migrated by GRDB.
public enum LedgerFile {
    /// The file's path.
    public static let path = "ledger.sqlite"

    /// Opens the file, creates it if it is missing, and migrates it.
    public static func open(_ path: String = path) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        let database = try DatabaseQueue(path: path, configuration: configuration)
        try migrator.migrate(database)
        return database
    }

    private static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("accounts and bookings") { db in
            try db.create(table: "account") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("name", .text).notNull().unique()
            }
            try db.create(table: "category") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("name", .text).notNull()
                table.belongsTo("parent", inTable: "category", onDelete: .setNull)
            }
            try db.create(table: "booking") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("date", .datetime).notNull().indexed()
                table.column("amount", .integer).notNull()
                table.column("note", .text)
                table.belongsTo("account", onDelete: .cascade).notNull()
                table.belongsTo("category", onDelete: .setNull)
            }
        }
        migrator.registerMigration("labels and attachments") { db in
            try db.create(table: "label") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("name", .text).notNull().unique()
            }
            try db.create(table: "bookingLabel") { table in
                table.primaryKey {
                    table.belongsTo("booking", onDelete: .cascade)
                    table.belongsTo("label", onDelete: .cascade)
                }
            }
            try db.create(table: "attachment") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("name", .text).notNull()
                table.column("content", .blob).notNull()
                table.belongsTo("booking", onDelete: .cascade).notNull()
            }
        }
        return migrator
    }
}
