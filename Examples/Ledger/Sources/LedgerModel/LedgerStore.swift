import Foundation
import HabitStore
import HabitStoreImport
import HabitStoreLMDB
import HabitStoreMapped
import HabitStoreRollout
import LedgerFile

/// The one place where version 2 says where its records are.
package enum Ledger {
    package static let schema = Schema([
        Account.self, Category.self, Booking.self, Label.self, Attachment.self,
    ])

    /// The app's file, SQLite and LMDB.
    package static var engines: Engines {
        get throws {
            let mapping = try TableMapping(parsing: Data(PackageResources.mapping_json))
            return try Engines([
                MappedSQLiteProvider(
                    mapping: mapping,
                    file: { _ in URL(fileURLWithPath: LedgerFile.path).path },
                    create: { path in try LedgerFile.open(path).close() },
                    adoptsFiles: true
                ),
                LMDBProvider(),
            ])
        }
    }

    /// Asks for little evidence: this app has one user.
    package static func configure(_ options: inout RolloutOptions) {
        options.gate.cleanShadowReads = 3
        options.shadowReads.recordEvery = 1
    }

    /// Opens the user's store, or says why version 1 continues with the file.
    package static func launch() throws -> FirstLaunch.Outcome<UserStore> {
        try FirstLaunch(of: LedgerFile.path, whenMissing: .isANewUser).open(inPlace: { try stores().store(for: "me") })
    }

    /// The stores of this app's users.
    package static func stores() throws -> UserStores {
        var options = RolloutOptions()
        options.logger.logLevel = .warning
        options.advancesByItself = false
        configure(&options)
        return try UserStores(root: "data", flags: "flags.json", engines: engines, schema: schema, options: options)
    }
}
