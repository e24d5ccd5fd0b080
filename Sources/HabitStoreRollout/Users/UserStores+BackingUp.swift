import Foundation
@_spi(Engines) import HabitStore

extension UserStores {
    /// Makes a backup of a user while others read and write: one consistent copy of the stores, with role, epoch and history, and of the
    /// evidence.
    ///
    /// - Parameters:
    ///   - path: the new folder. It is private to its owner, and gets its name when it is complete.
    ///   - progress: receives the current step.
    /// - Throws: ``HabitStoreError/Code/notFound`` for a user without stores; ``HabitStoreError/Code/unsupported`` if the path exists, or a store is
    ///   not in a file; what is wrong with the serving store.
    @discardableResult
    public func backUp(
        _ user: String,
        to path: String,
        progress: (String) -> Void = { _ in }
    ) throws -> BackupOutcome {
        let directory = try known(user)
        let making = BackupMaking(
            directory: directory,
            engines: engines,
            options: options,
            schema: schema(of: directory)
        )
        return try making.run(to: path, progress: progress)
    }

    /// Restores a backup: its stores become the user's, in an epoch above all others, and the evidence records it. Earlier proofs do not count.
    ///
    /// The current stores are set aside next to the new ones, and never deleted. A killed user stays killed, at `off`; any other gets the
    /// backup's stage.
    ///
    /// - Parameters:
    ///   - user: the user that the backup has to belong to; nil for any.
    ///   - replaces: whether to give up what the user has and the backup lacks.
    ///   - person: the operator's name, for the evidence.
    ///   - reason: why, for the evidence.
    ///   - progress: receives the current step and its progress.
    /// - Throws: ``HabitStoreError/Code/staleStore`` if something would be given up and `replaces` is false; ``HabitStoreError/Code/corrupt`` for an
    ///   incomplete backup, ``HabitStoreError/Code/newerVersion`` for one of a newer program, ``HabitStoreError/Code/invalidValue`` for another
    ///   user's; and system errors.
    public func restore(
        _ backup: UserBackup,
        of user: String? = nil,
        replacing replaces: Bool = false,
        by person: String,
        because reason: String,
        progress: (String, Int, Int) -> Void = { _, _, _ in }
    ) throws -> RestorationOutcome {
        if let user, UserKey(user) != UserKey(backup.manifest.user) {
            throw HabitStoreError(
                .invalidValue,
                "the backup is another user's; a backup can be restored only for its own user",
                at: .init(path: backup.path)
            )
        }
        guard backup.manifest.store == place.name?.text else {
            throw HabitStoreError(
                .invalidValue,
                "the backup is of \(Self.words(backup.manifest.store)), and this is \(Self.words(place.name?.text)); "
                    + "a backup can be restored only to its own store",
                at: .init(path: backup.path)
            )
        }
        let directory = try directory(of: backup.manifest.user)
        try rest(backup.manifest.user)
        let restoring = Restoring(
            backup: backup,
            directory: directory,
            engines: engines,
            options: options,
            schema: schema,
            replaces: replaces,
            by: person,
            because: reason
        )
        return try restoring.run(progress: progress)
    }

    private static func words(_ store: String?) -> String {
        store.map { "the store \($0)" } ?? "the store without a name"
    }

    /// Closes the files of a user who is open in this process; the next operation opens the current ones. An engine may open a file that replaced
    /// another one only after its process has closed that one.
    private func rest(_ user: String) throws {
        guard let files = handles.withLock({ $0[user]?.files }), !files.isClosed else { return }
        let end = ContinuousClock.now + .seconds(options.lockWaitSeconds)
        while !files.leases.isShut, files.leases.openUser != nil, !files.closeForAnother(isPatient: false) {
            guard ContinuousClock.now < end else {
                throw HabitStoreError(
                    .busy,
                    "the user is in use in this process; restore again when that has ended",
                    at: .init(path: files.context.directory.path)
                )
            }
            Thread.sleep(forTimeInterval: 0.002)
        }
    }
}
