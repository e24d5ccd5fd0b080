import Foundation

/// Files that other apps and people wrote, in the folder that `HABITSTORE_REAL_STORES` names; what needs them is left out
/// without it. Only copies are opened.
enum RealFiles {
    /// The folder.
    static let folder: String? = ProcessInfo.processInfo.environment["HABITSTORE_REAL_STORES"].flatMap {
        $0.isEmpty ? nil : $0
    }

    /// A private copy of a file or folder, in a folder of a test's own.
    static func copy(_ name: String, into folder: ImportFolder) throws -> String {
        let target = folder.path(name.split(separator: "/").last.map(String.init) ?? name)
        try FileManager.default.copyItem(atPath: (Self.folder ?? "") + "/" + name, toPath: target)
        return target
    }
}
