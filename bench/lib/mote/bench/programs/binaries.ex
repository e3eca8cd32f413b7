defmodule Mote.Bench.Programs.Binaries do
  # Splitting a binary of ten megabytes into frames of n bytes, each behind its length in four bytes: one pattern for
  # each frame, whose bytes are shared and not copied.
  @moduledoc false

  @bytes 10_000_000

  use Mote.Bench.Program,
    title: "ten megabytes split into frames of n bytes behind their lengths",
    param: :n,
    defaults: [16, 100, 1_000],
    small: 10_000,
    metric: :ns_per_frame,
    count: &div(@bytes, &1 + 4),
    expected: &{count(&1), &1},
    processes: 1

  defmodule Actors do
    use Mote.Behaviour

    defactor splitter(bytes) do
      customer -> send customer, split(bytes, [])
    end

    # The number of frames, and the size of the one split last.
    defpure split(<<size::32, frame::binary-size(size), rest::binary>>, frames),
      do: split(rest, [frame | frames])

    defpure split(<<>>, [last | _] = frames), do: {length(frames), byte_size(last)}
  end

  defmodule Processes do
    @spec splitter(binary) :: term
    def splitter(bytes) do
      receive do
        customer -> send(customer, split(bytes, []))
      end

      splitter(bytes)
    end

    defp split(<<size::32, frame::binary-size(size), rest::binary>>, frames),
      do: split(rest, [frame | frames])

    defp split(<<>>, [last | _] = frames), do: {length(frames), byte_size(last)}
  end

  @impl true
  def mote(machine, n) do
    splitter = Mote.create(machine, Actors.splitter(bytes(n)))
    [split: asking(splitter, self())]
  end

  @impl true
  def beam(n) do
    splitter = spawn(Processes, :splitter, [bytes(n)])
    [split: asking(splitter, self())]
  end

  defp bytes(n), do: :binary.copy(<<n::32, 0::size(n)-unit(8)>>, count(n))
end
