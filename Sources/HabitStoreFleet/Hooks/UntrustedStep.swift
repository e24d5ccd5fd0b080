import Foundation
import HabitStore

/// A folder, a link or a file on the way to a file that someone other than root and this process's user can exchange.
struct UntrustedStep {
    let path: String

    /// The number of links after which Linux gives up.
    private static let mostLinks = 40

    /// Walks the path as the system does, link by link. nil if no other user can change where it leads.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` if a step does not exist.
    init?(on path: String) throws(HabitStoreError) {
        var (steps, place, links) = (Self.steps(path), "/", 0)
        while true {
            var status = stat()
            guard lstat(place, &status) == 0 else { throw Self.missing(place) }
            let isLink = status.st_mode & S_IFMT == S_IFLNK
            if ![0, geteuid()].contains(status.st_uid) || !isLink && Self.isOpen(status) {
                self.path = place
                return
            }
            if isLink {
                links += 1
                guard links <= Self.mostLinks, let target = Self.target(of: place) else { throw Self.missing(place) }
                steps = Self.steps(target) + steps
                place = target.hasPrefix("/") ? "/" : Self.folder(of: place)
            }
            guard let step = steps.first else { return nil }
            steps.removeFirst()
            place = step == ".." ? Self.folder(of: place) : place == "/" ? "/" + step : place + "/" + step
        }
    }

    /// In a folder with the sticky bit, users can exchange only their own files.
    private static func isOpen(_ status: stat) -> Bool {
        let isSticky = status.st_mode & S_IFMT == S_IFDIR && status.st_mode & S_ISVTX != 0
        return status.st_mode & 0o022 != 0 && !isSticky
    }

    private static func steps(_ path: String) -> [String] {
        path.split(separator: "/").filter { $0 != "." }.map(String.init)
    }

    /// The folder of a path that contains no `..`.
    private static func folder(of path: String) -> String {
        let parent = path.split(separator: "/").dropLast().joined(separator: "/")
        return "/" + parent
    }

    private static func target(of link: String) -> String? {
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(link, &bytes, bytes.count)
        return count > 0 ? String(decoding: bytes.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self) : nil
    }

    private static func missing(_ place: String) -> HabitStoreError {
        HabitStoreError(.notFound, "this step on the way to a hook program is missing", at: .init(path: place))
    }
}
