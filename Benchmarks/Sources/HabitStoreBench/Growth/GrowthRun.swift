import Foundation

/// The suite `growth`: the costs of each kind of work for one user with a thousand entries, and with more and more of them; each size is measured in
/// a
/// separate process.
struct GrowthRun {
    private static let first = 1_000
    private static let factor = 10

    private let directory: URL
    private let entries: Int

    init(_ directory: URL, entries: Int) {
        self.directory = directory.appendingPathComponent("growth")
        self.entries = entries
    }

    func measure() throws {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        print("\nOne user; medians, microseconds. Each transaction inserts 50,000 entries.\n")
        print(
            "| store | entries | an insertion | open, read, close | read by id | a habit's 30 entries | newest 20 | commit "
                + "| memory, MiB | mapped, MiB | file, MiB |"
        )
        print("|---|" + String(repeating: "---:|", count: 10))
        for engine in [TableEngine.sqlite, .lmdb] {
            let path = directory.appendingPathComponent(engine.rawValue).path
            var before = 0
            for count in counts {
                let insertion = try ChildProcess.output([
                    GrowthChild.argument, "load", engine.rawValue, path, String(before), String(count),
                ])
                let row = try ChildProcess.output([
                    GrowthChild.argument, "measure", engine.rawValue, path, "0", String(count),
                ])
                print("| \(engine.rawValue) | \(count.grouped) | \(insertion) | \(row) |")
                fflush(nil)
                before = count
            }
        }
        try FileManager.default.removeItem(at: directory)
    }

    private var counts: [Int] {
        Array(sequence(first: min(Self.first, entries)) { $0 * Self.factor }.prefix { $0 < entries }) + [entries]
    }
}
