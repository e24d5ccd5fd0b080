import Foundation
@_spi(Engines) import HabitStore

extension UserStores {
    /// A user's status. Writes, switches and finishes nothing; what cannot be read is part of the result.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` for a user without stores.
    public func status(of user: String) throws -> UserStatus {
        let directory = try known(user)
        let status = inspection(directory, schema).status()
        // The stores' schema versions are read only if there is a problem: most are current.
        guard options.otherVersions == .asWrittenByAnyApp, !status.problems.isEmpty else { return status }
        let written = schema(of: directory)
        return StoredSchema(written) == StoredSchema(schema) ? status : inspection(directory, written).status()
    }

    /// Asks the gate whether the store that a user has left could be removed, as ``UserStore/retire(against:by:progress:)`` would. Verifies,
    /// moves and removes nothing.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` for a user without stores, and if the store is gone already; why the user cannot be read.
    public func retirement(of user: String) throws -> RetirementOutcome { try inspection(of: user).retirement() }

    /// The evidence's anchor in a user's stores; nil if they have none.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` for a user without stores.
    public func evidenceAnchor(of user: String) throws -> EvidenceHead? { try inspection(of: user).anchor() }

    private func inspection(of user: String) throws -> UserInspection {
        let directory = try known(user)
        return inspection(directory, schema(of: directory))
    }

    private func inspection(_ directory: UserDirectory, _ schema: Schema) -> UserInspection {
        // If the user is open in this process, the app's attributes are known.
        let subject = handles.withLock { $0[directory.user]?.files.context.subject }
        return UserInspection(
            directory: directory,
            schema: schema,
            known: engines,
            options: options,
            flags: flags,
            subject: subject ?? FlagSubject(directory.user)
        )
    }

    /// A user's evidence.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` for a user without stores, ``HabitStoreError/Code/notAuthoritative`` for one who belongs to
    ///   another machine, which has the evidence.
    public func evidence(of user: String) throws -> EvidenceLog {
        // Reading the anchor also takes over lines that other machines have added.
        _ = try inspection(of: user).anchor()
        return EvidenceLog(try known(user), keys: options.evidenceKeys)
    }

    /// All lines of a user's evidence, file after file, including archives and evidence that was started over.
    ///
    /// - Parameter body: receives the file's name, and the line without its newline; nil for a line longer than evidence can be.
    /// - Throws: ``HabitStoreError/Code/notFound`` for a user without stores, and errors of the system.
    package func enumerateEvidence(of user: String, _ body: (_ file: String, _ line: Data?) throws -> Void) throws {
        let log = try evidence(of: user)
        let folder = URL(fileURLWithPath: log.path).deletingLastPathComponent().path
        let names = try KeptFiles.names(folder).filter { $0.hasPrefix("evidence") && $0.hasSuffix(".jsonl") }
        for name in names.filter({ $0 != EvidenceLog.fileName }) + names.filter({ $0 == EvidenceLog.fileName }) {
            let file = try EvidenceFile(folder + "/" + name, .read, waitSeconds: options.lockWaitSeconds)
            try file.forEachPart(0..<(try file.size())) { part, _ in
                switch part {
                case .line(let bytes): try body(name, Data(bytes.dropLast()))
                case .overlong: try body(name, nil)
                case .rest(let bytes): if !EvidenceLine.isTorn(bytes) { try body(name, Data(bytes)) }
                }
            }
        }
    }

    /// The paths at which this program made backups of a user.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` for a user without stores.
    public func backups(of user: String) throws -> [String] {
        var seen: Set<String> = []
        return try BackupList(known(user)).entries().map(\.path).filter { seen.insert($0).inserted }
    }

    /// The lines of evidence in a user's favour that do not count: those whose writers did not report them to the stores, and with
    /// ``RolloutOptions/evidenceKeys`` those without a seal. Lines of a working process may be among them for a moment.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` for a user without stores, and errors of the system.
    public func uncountedEvidence(of user: String) throws -> EvidenceLog.Uncounted {
        try evidence(of: user).uncounted(try inspection(of: user).trust())
    }

    /// Checks all of a user's evidence, archives included. Writes nothing.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` for a user without stores, and system errors.
    public func verifyEvidence(of user: String) throws -> EvidenceVerification {
        try evidence(of: user).verify(anchor: try evidenceAnchor(of: user))
    }

    /// Checks that the user exists, since asking for a store would create it.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` for a user without a folder.
    public func check(_ user: String) throws { _ = try known(user) }

    /// The size of a user's store files in bytes, logs included. Opens nothing, and does not count stores on servers.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidValue`` for an invalid user id.
    package func storeBytes(of user: String) throws -> Int {
        let directory = try directory(of: user)
        return engines.names.filter { !engines.isShared($0) }.reduce(0) { sum, engine in
            let path = engines.address(engine, of: directory).path
            return ["", "-wal"].reduce(sum) { sum, ending in
                var status = stat()
                return lstat(path + ending, &status) == 0 ? sum + Int(status.st_size) : sum
            }
        }
    }

    /// Whether the user has a store that other machines can reach too.
    private func hasSharedStore(_ directory: UserDirectory) throws -> Bool {
        try engines.names.contains { engine in
            try engines.isShared(engine) && engines.identity(of: engines.address(engine, of: directory)) != nil
        }
    }

    /// - Parameter mayBeErased: whether to accept a user whose erasure was begun.
    func known(_ user: String, mayBeErased: Bool = false) throws -> UserDirectory {
        let directory = try directory(of: user)
        if !mayBeErased { try ErasureMark(directory).requireNone() }
        var status = stat()
        if lstat(directory.path, &status) != 0 {
            // A user who belongs to no machine may be new here.
            guard try hasSharedStore(directory) else { throw missing(user) }
            try directory.make()
        }
        try directory.requireOwn()
        return directory
    }
}
