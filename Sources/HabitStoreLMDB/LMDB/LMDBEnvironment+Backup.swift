extension LMDBEnvironment {
    /// Writes a consistent copy to a new file, durably, while others read and write.
    ///
    /// - Parameters:
    ///   - path: Where the copy goes, once it is whole. Something that is there is never overwritten.
    ///   - compact: Leave free pages out. Slower, and refused by liblmdb when pages of the file have leaked.
    func copy(to path: String, compact: Bool) throws {
        try LMDBDraft.write(path, during: "making the copy") { descriptor in
            try core.copy(to: descriptor, compact: compact, for: self)
        }
    }
}
