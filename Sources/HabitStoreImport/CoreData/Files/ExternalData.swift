import DurableFiles
import Foundation

/// The folder where Core Data stores a store's large values, one file each: `.NAME_SUPPORT/_EXTERNAL_DATA` next to the store, whose name
/// without its extension is `NAME`.
struct ExternalData: Sendable {
    private let folder: String

    /// - Parameter file: the path of the store, with symbolic links resolved.
    init(besideStore file: String) {
        let url = URL(fileURLWithPath: file)
        let name = url.deletingPathExtension().lastPathComponent
        folder = DurableFile.folder(of: file) + "/.\(name)_SUPPORT/_EXTERNAL_DATA"
    }

    /// The name of the file that holds a value; nil for an inline value. The column holds a 2 and then the name, a UUID, with or without a
    /// trailing zero byte.
    static func name(in bytes: Data) -> String? {
        guard bytes.first == 2, (37...38).contains(bytes.count), bytes.count == 37 || bytes.last == 0 else {
            return nil
        }
        let name = String(decoding: bytes.dropFirst().prefix(36), as: UTF8.self)
        return UUID(uuidString: name) == nil ? nil : name
    }

    /// The bytes of a file; nil if it is missing or unreadable. The name is a UUID, so the path cannot leave the folder.
    func read(_ name: String) -> Data? {
        (try? WholeFile.read("\(folder)/\(name)")).map { Data($0.bytes) }
    }
}
