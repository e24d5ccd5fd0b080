import DurableFiles
import Foundation
import HabitStore
import HabitStoreImport

/// The exchange of a preferences file for one in which the key is emptied.
struct PreferencesReplacement {
    private let journal: PreferencesJournal

    init(_ journal: PreferencesJournal) { self.journal = journal }

    /// Makes the file that is to take the place.
    func prepare(_ bytes: [UInt8], like status: stat) throws {
        try FileFailure.told {
            try DurableFile.create(journal.temporary, bytes, like: status)
            try DurableFile.synchronizeFolder(of: journal.temporary)
        }
    }

    /// Whether the file has taken the preferences' place.
    ///
    /// The file beside them tells: it is gone, or is the one that came back. Should somebody else have removed it, the
    /// preferences are still the very file that was read.
    func isDone(now file: PreferencesFile) throws -> Bool {
        guard journal.stage == .prepared else { return false }
        if file.path != journal.path { return file.sha256 == journal.replacementSHA256 }
        guard let beside = try sha256(of: journal.temporary) else {
            return file.identity != journal.identity || file.sha256 != journal.originalSHA256
        }
        return beside != journal.replacementSHA256
    }

    /// The file that came back by the exchange; nil where there is none.
    func returned() throws -> PreferencesFile? {
        guard let beside = try sha256(of: journal.temporary), beside != journal.replacementSHA256 else { return nil }
        return try PreferencesFile(path: journal.temporary)
    }

    /// Takes the exchange back, so that the file that came back is where it was.
    func takeBack() throws {
        guard try exchange() else { throw failure(EINVAL) }
        try FileFailure.told { try DurableFile.synchronizeFolder(of: journal.path) }
    }

    /// Puts the prepared file in the place of the preferences, if these are still what was read.
    ///
    /// - Returns: whether it did.
    func replace() throws -> Bool {
        // The prepared file stays where it is: that it is there says that nothing was replaced.
        guard try sha256(of: journal.path) == journal.originalSHA256 else { return false }
        guard try exchange() else {
            do {
                try DurableFile.move(journal.temporary, to: journal.path)
            } catch {
                throw failure(error.number)
            }
            return true
        }
        ImportCrashPoint.reach("preferences.exchanged")
        if try sha256(of: journal.temporary) != journal.originalSHA256 {
            // The app has written between the look and the exchange. Its file goes back, if it did not write yet again.
            try takeBack()
            guard try sha256(of: journal.temporary) == journal.replacementSHA256 else {
                try takeBack()
                throw HabitStoreError(
                    .busy,
                    "an app goes on writing this file; end it and run the import again, which takes up what is left",
                    at: .init(path: journal.path)
                )
            }
            return false
        }
        try FileFailure.told { try DurableFile.synchronizeFolder(of: journal.path) }
        return true
    }

    /// Removes the file beside the preferences.
    func discard() throws {
        guard unlink(journal.temporary) == 0 || errno == ENOENT || errno == ENOTDIR else {
            throw HabitStoreError.system(errno, "the file beside the preferences cannot be removed", journal.temporary)
        }
    }

    /// Exchanges the two files in one step.
    ///
    /// - Returns: false where the file system cannot do so, and nothing has happened.
    private func exchange() throws -> Bool {
        do {
            return try DurableFile.exchange(journal.temporary, journal.path)
        } catch {
            throw failure(error.number)
        }
    }

    private func failure(_ number: Int32) -> HabitStoreError {
        HabitStoreError.system(number, "the preferences cannot be replaced; the drafts are in the store", journal.path)
    }

    private func sha256(of path: String) throws -> String? {
        do {
            return ContentDigest.of(try WholeFile.read(path).bytes)
        } catch let error as HabitStoreError where error.code == .notFound {
            return nil
        }
    }
}
