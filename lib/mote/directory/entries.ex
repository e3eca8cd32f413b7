defmodule Mote.Directory.Entries do
  # A directory that starts nothing: it has only what is put into it.
  @moduledoc false

  use Mote.Behaviour

  defdirectory entries() do
    _ -> nil
  end
end
