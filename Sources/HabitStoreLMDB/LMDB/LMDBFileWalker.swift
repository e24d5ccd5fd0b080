@_spi(Engines) import HabitStore

/// Walks every page that a file's newest snapshot reaches, and collects findings.
final class LMDBFileWalker {
    /// The state of a page.
    enum PageState: UInt8 {
        case unseen
        case used
        case free
    }

    /// More findings would not help.
    static let maximumFindings = 100

    let source: LMDBPageSource
    let header: LMDBFileHeader
    private(set) var findings: [LMDBFinding] = []
    private var states: [PageState]
    private var hiddenFindings = 0

    init(source: LMDBPageSource, header: LMDBFileHeader) throws {
        self.source = source
        self.header = header
        // The inspector has compared the last page with the file's length, so this allocates no more than the file justifies.
        guard let count = Int(exactly: header.current.lastPage + 1), header.current.lastPage < header.fileLength else {
            throw LMDBError.error(.corrupt, "the file is truncated", path: source.path)
        }
        states = [PageState](repeating: .unseen, count: count)
        for index in 0..<min(count, Int(LMDBFileFormat.metaPageCount)) { states[index] = .used }
    }

    var lastPage: UInt64 { header.current.lastPage }

    func report(_ severity: LMDBFinding.Severity, page: UInt64?, _ message: String) {
        guard findings.count < Self.maximumFindings else {
            hiddenFindings += 1
            return
        }
        findings.append(LMDBFinding(severity: severity, page: page, message: message))
    }

    /// - Throws: `.corrupt` with the first damage that was found.
    func requireUndamaged() throws {
        guard let damage = findings.first(where: { $0.severity == .damage }) else { return }
        throw LMDBError.error(
            .corrupt,
            "the file is damaged (\(damage.description)); restore a copy",
            path: source.path
        )
    }

    /// Marks a page as used or free. Returns false, and adds a finding, if the page is outside the file or already marked.
    func claim(_ page: UInt64, as state: PageState, from origin: UInt64?) -> Bool {
        guard page >= LMDBFileFormat.metaPageCount, page <= lastPage else {
            report(.damage, page: origin, "points to page \(page), which is outside of the file")
            return false
        }
        let index = Int(page)
        switch (states[index], state) {
        case (.unseen, _):
            states[index] = state
            return true
        case (.used, .used): report(.damage, page: page, "is reached twice")
        case (.free, .free): report(.damage, page: page, "is listed as free twice")
        default: report(.damage, page: page, "is in use and listed as free")
        }
        return false
    }

    /// Walks the whole file.
    func walkFile() throws -> [LMDBFinding] {
        try walkFreeList()
        let main = LMDBTreeWalker(file: self, tree: header.current.mainTree, kind: .main)
        try main.walk()
        for named in main.namedTrees { try walk(named) }
        reportLeaks()
        // Reported last, because findings end a search, and the file can be read despite this one.
        if let page = main.foreignPage {
            report(.foreign, page: page, "has a record among the databases, which is not one")
        }
        if hiddenFindings > 0 {
            let message = "\(hiddenFindings) more findings are not listed"
            findings.append(LMDBFinding(severity: .damage, page: nil, message: message))
        }
        return findings
    }

    /// Walks the free list.
    func walkFreeList() throws {
        try LMDBTreeWalker(file: self, tree: header.current.freeTree, kind: .freeList).walk()
    }

    /// The databases of the file, by their names.
    func namedTrees() throws -> [[UInt8]: LMDBTreeWalker.NamedTree] {
        let main = LMDBTreeWalker(file: self, tree: header.current.mainTree, kind: .main)
        try main.walk()
        return Dictionary(main.namedTrees.map { ($0.name, $0) }) { first, _ in first }
    }

    /// Walks one database, and passes its records to `onRecord`.
    func walk(_ named: LMDBTreeWalker.NamedTree, onRecord: ((LMDBRecord) throws -> Void)? = nil) throws {
        if named.tree.flags != 0 {
            report(.unsupported, page: named.page, "holds a database with sorted duplicates or another key order")
        } else if let reason = named.tree.contradiction(lastPage: lastPage) {
            report(.damage, page: named.page, "holds a database that \(reason)")
        } else {
            let walker = LMDBTreeWalker(file: self, tree: named.tree, kind: .named)
            walker.onRecord = onRecord
            try walker.walk()
        }
    }

    /// Whether every page beyond the end of the file is on the free list.
    func isTailFree() throws -> Bool {
        try walkFreeList()
        guard findings.isEmpty, let first = Int(exactly: header.wholePages), first <= states.count else { return false }
        return states[first...].allSatisfy { $0 == .free }
    }

    /// Only for a file without other findings: pages below a damaged one are unreachable rather than leaked.
    private func reportLeaks() {
        guard findings.isEmpty, let first = states.firstIndex(of: .unseen) else { return }
        let count = states.reduce(into: 0) { if $1 == .unseen { $0 += 1 } }
        report(.leak, page: UInt64(first), "and \(count - 1) more are neither in use nor free")
    }
}
