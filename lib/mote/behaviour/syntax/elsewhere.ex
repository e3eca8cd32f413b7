defmodule Mote.Behaviour.Syntax.Elsewhere do
  # Functions that have effects, read what a turn cannot read, or need something that a machine does not have,
  # with what to write in a behaviour instead. Texts only.
  @moduledoc false

  @process "send it to a BEAM process that does it, mark the behaviour beam: true, or use Mote.Library.Beam"
  @clock "a turn that runs again must do the same again: use System.monotonic_time(unit), or take the time from the message"
  @atoms "atoms are never freed: keep the binary"
  @existing "which atoms exist differs from node to node: keep the binary, or match the texts that you expect"
  @unicode "it needs tables of Unicode that are not in a machine"
  @regex "a regex is written in place, ~r/…/, and used by the functions of Regex and String"
  @timer "write send_after(milliseconds, target, message), and cancel_timer(timer)"
  @monitor "write monitor(process, message): the message comes when the process has ended"
  @waiting "an actor does not wait: write send_after(milliseconds, self(), message), and go on when the message comes"

  @before "call it before you send: a machine takes terms as they are"
  @distance "releases of Elixir do not agree about it: write a defpure of your own, or use String.bag_distance/2"
  @path "not all releases of Elixir have it: write Access.filter/1, Access.at/1 or Access.all/0, or a path, as in put_in(a.b[c], value)"

  @functions %{
    {Process, :send_after} => @timer,
    {Process, :cancel_timer} => "write cancel_timer(timer)",
    {Process, :monitor} => @monitor,
    {:erlang, :monitor} => @monitor,
    {Process, :demonitor} => "write demonitor(monitor)",
    {:erlang, :demonitor} => "write demonitor(monitor)",
    {Process, :alive?} => @monitor,
    {Process, :link} => @monitor,
    {Process, :sleep} => @waiting,
    {Process, :send} => "write send target, message",
    {:erlang, :send} => "write send target, message",
    {:erlang, :send_after} => @timer,
    {:erlang, :start_timer} => @timer,
    {:erlang, :cancel_timer} => "write cancel_timer(timer)",
    {:erlang, :now} => @clock,
    {:erlang, :system_time} => @clock,
    {:erlang, :monotonic_time} => "write System.monotonic_time(unit)",
    {:timer, :sleep} => @waiting,
    {:timer, :send_after} => @timer,
    {:timer, :send_interval} => "write send_after(milliseconds, self(), message), again with each message",
    {:erlang, :term_to_binary} => "send the term as it is: it leaves a machine as the term that it is",
    {:erlang, :binary_to_term} => @before,
    {IO, :inspect} => "#{@process}; Mote.trace/2 shows what turns do",
    {GenServer, :call} =>
      "send a request with self() in it, as send server, {self(), request}: the answer comes as a message",
    {GenServer, :reply} => "write send customer, answer",
    {Process, :exit} => "an actor ends by become sink(), and another one by a message that it understands",
    {GenServer, :cast} => "write send target, message",
    {String, :to_atom} => @atoms,
    {String, :to_existing_atom} => @existing,
    {String, :to_unsafe_atom} => @atoms,
    {List, :to_atom} => @atoms,
    {List, :to_existing_atom} => @existing,
    {:erlang, :binary_to_atom} => @atoms,
    {:erlang, :list_to_atom} => @atoms,
    {String, :normalize} => @unicode,
    {String, :equivalent?} => @unicode,
    {String, :jaro_distance} => @distance,
    {String, :chunk} => @unicode,
    {List, :to_unsafe_atom} => @atoms,
    {Enum, :min_max} => "write Enum.min_max_by(source, & &1, sorter), and a fallback behind it",
    {Enum, :partition} => "write Enum.split_with/2",
    {Map, :size} => "write map_size(map)",
    {Map, :map} => "write Map.new(map, fun)",
    {Keyword, :size} => "write length(keywords)",
    {Keyword, :map} => "write Keyword.new(keywords, fun)",
    {:maps, :foreach} => "write Enum.each/2",
    {:maps, :iterator} => "write for {key, value} <- map",
    {:maps, :next} => "write for {key, value} <- map",
    {String, :splitter} => "write String.split/3",
    {Stream, :interval} => @waiting,
    {Stream, :timer} => @waiting,
    {Access, :find} => @path,
    {Access, :values} => @path,
    {System, :system_time} => "there is System.monotonic_time(unit)",
    {System, :os_time} => "there is System.monotonic_time(unit)",
    {System, :unique_integer} => "the address of a fresh actor is as unique: create sink()"
  }

  @modules %{
    Function => "write &Module.name/1 for a function that is a value, and is_function(value, n) to test one",
    Stream => "name it, use Mote.Behaviour, import: [Stream]: functions of Enum then take streams, too",
    Regex => @regex,
    IO => @process,
    File => @process,
    Port => @process,
    Logger => "#{@process}; Mote.Telemetry.attach_default_logger/0 logs turns that were aborted",
    System => @process,
    Application => "what an actor is to know comes with its captures",
    Process => "an actor is not a process: it has send, self(), create and become",
    GenServer => "an actor is a server by itself: the clauses of its defactor take the requests",
    Agent => "an actor keeps its state in its captures: become name(…) changes it",
    Task => "write create name(…) for each, with self() among its captures: the answers come as messages",
    Supervisor => "an aborted turn leaves its actor as it was: there is nothing to supervise",
    DynamicSupervisor => "an aborted turn leaves its actor as it was: there is nothing to supervise",
    Registry => "keep the addresses in a map of an actor, or use a Mote.Directory",
    Mote.Directory =>
      "there are Mote.Directory.send(directory, key, message) and shard(directory, key), to which requests such as " <>
        "{self(), {:whereis, key}} are sent: Mote.Directory lists them",
    Node => "an address says itself where its actor is",
    Code => "code is compiled before it is loaded",
    :timer => @timer,
    :ets => "an actor keeps its state in its captures: a map takes the place of a table",
    :dets => @process,
    :persistent_term => "what an actor is to know comes with its captures",
    :gen_server => "an actor is a server by itself: the clauses of its defactor take the requests",
    :counters => "an actor keeps its state in its captures",
    :atomics => "an actor keeps its state in its captures",
    :unicode => "use the functions of String, or call it before you send",
    :io_lib => "use to_string/1 and interpolation, or call it before you send",
    :zlib => @before,
    OptionParser => @before,
    Exception => @before,
    :gen_tcp => @process,
    :file => @process,
    :io => @process,
    :os => @process,
    :logger => @process,
    :re => @regex,
    :crypto => @process
  }

  # What is known of a date when there is a clock.
  @today [utc_today: 0, utc_today: 1, utc_now: 0, utc_now: 1, utc_now: 2, now: 1, now!: 1, local_now: 0]

  @doc "Says what to write instead of `module.name/arity`, or nil if nothing is known of it."
  @spec reason(module, atom, arity) :: String.t() | nil
  def reason(module, name, arity) do
    cond do
      module in [Date, Time, DateTime, NaiveDateTime] and {name, arity} in @today -> @clock
      true -> Map.get(@functions, {module, name}) || Map.get(@modules, module)
    end
  end
end
