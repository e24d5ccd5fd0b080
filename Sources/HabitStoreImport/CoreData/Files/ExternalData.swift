import DurableFiles
import Foundation

/// The folder in which Core Data keeps large values of a file, each in a file of its own: `.NAME_SUPPORT/_EXTERNAL_DATA`
/// beside the file that is called `NAME` but for its extension.
struct ExternalData: Sendable {
    private let folder: String

    /// - Parameter file: the path of the store, without links in it.
    init(besideStore file: String) {
        let url = URL(fileURLWithPath: file)
        let name = url.deletingPathExtension().lastPathComponent
        folder = DurableFile.folder(of: file) + "/.\(name)_SUPPORT/_EXTERNAL_DATA"
    }

    /// The name of the file that a value stands for; nil for a value that is what it is. In the column stands a 2, and behind
    /// it the name, a UUID, with or without a zero byte.
    static func name(in bytes: Data) -> String? {
        guard bytes.first == 2, (37...38).contains(bytes.count), bytes.count == 37 || bytes.last == 0 else {
            return nil
        }
        let name = String(decoding: bytes.dropFirst().prefix(36), as: UTF8.self)
        return UUID(uuidString: name) == nil ? nil : name
    }

    /// The bytes of a file; nil when it is not there, or cannot be read. The name is a UUID and leads nowhere else.
    func read(_ name: String) -> Data? {
        (try? WholeFile.read("\(folder)/\(name)")).map { Data($0.bytes) }
    }
}
