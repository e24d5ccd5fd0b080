import Foundation
import HabitStore

/// The folder of all users' stores with one name: the root itself for stores without a name, `stores/NAME` for the others.
///
/// Each is a root like any other, with its users' folders and evidence, a fleet and a kill switch. Those with a name also obey the root's kill
/// switch.
package struct StoreRoot: Sendable, Hashable {
    private static let folderName = "stores"

    /// The root that all stores of a user have in common.
    package let root: String
    /// The name; nil for the stores without one.
    package let name: StoreName?

    /// The stores of a name under a root; nil for the stores without a name.
    package init(_ root: String, _ name: StoreName? = nil) { (self.root, self.name) = (root, name) }

    /// The same, from the name's text.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidValue`` for an invalid store name.
    package init(_ root: String, named name: String?) throws { self.init(root, try name.map { try StoreName($0) }) }

    /// The root folder of these stores.
    package var path: String { name.map { "\(root)/\(Self.folderName)/\($0.text)" } ?? root }

    /// The roots whose kill switch applies, the stores' own first.
    package var killRoots: [String] { name == nil ? [root] : [path, root] }

    /// The keys of the flags.
    package var flags: RolloutFlagKeys { name.map { RolloutFlagKeys(prefix: "\($0.text)-store") } ?? .standard }

    /// All store roots under a root, the unnamed one first.
    ///
    /// - Throws: ``HabitStoreError/Code/inputOutput`` if the root cannot be read.
    package static func all(under root: String) throws -> [StoreRoot] {
        let folder = "\(root)/\(folderName)"
        var status = stat()
        if lstat(folder, &status) != 0, errno == ENOENT || errno == ENOTDIR { return [StoreRoot(root)] }
        do {
            let names = try FileManager.default.contentsOfDirectory(atPath: folder)
            return [StoreRoot(root)] + names.sorted().compactMap { try? StoreName($0) }.map { StoreRoot(root, $0) }
        } catch {
            throw HabitStoreError(
                .inputOutput,
                "the folder of the stores with names cannot be read",
                at: .init(path: folder),
                underlying: error
            )
        }
    }
}
