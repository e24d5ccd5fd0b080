import Foundation
import HabitStoreMacros

@Model
package struct Note {
    package var title: String
    package var isPinned = false
    @ToOne package var notebook: Notebook?
    @ManyToMany package var labels: [Label]

    #Index<Note>([\.notebookID, \.title])
}
