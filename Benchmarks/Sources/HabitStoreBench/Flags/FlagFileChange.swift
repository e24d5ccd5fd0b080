/// The ways to change a flag file or pull the kill switch.
enum FlagFileChange: String, CaseIterable {
    case renameSwap = "a new file renamed over the old one"
    case inPlaceWrite = "the file written in place, from its close on"
    case linkSwap = "a new symbolic link renamed over the old one"
    case sentinel = "the sentinel file touched"
}
