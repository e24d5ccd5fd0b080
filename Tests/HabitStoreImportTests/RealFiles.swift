import Foundation
import HabitStoreTesting

/// Files from other apps and people, in the folder `HABITSTORE_REAL_STORES`; tests that need them are skipped without it. Only copies are opened.
enum RealFiles {
    static let folder: String? = ProcessInfo.processInfo.environment["HABITSTORE_REAL_STORES"].flatMap {
        $0.isEmpty ? nil : $0
    }

    /// A private copy of a file or folder, in a test's folder.
    static func copy(_ name: String, into folder: TemporaryFolder) throws -> String {
        let target = folder.path(name.split(separator: "/").last.map(String.init) ?? name)
        try FileManager.default.copyItem(atPath: (Self.folder ?? "") + "/" + name, toPath: target)
        return target
    }
}
