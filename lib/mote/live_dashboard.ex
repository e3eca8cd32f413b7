if Code.ensure_loaded?(Phoenix.LiveDashboard.PageBuilder) do
  defmodule Mote.LiveDashboard do
    @moduledoc """
    A page of [Phoenix LiveDashboard](https://hexdocs.pm/phoenix_live_dashboard) that shows a machine.

    This module is there if `phoenix_live_dashboard` 0.8 or later is. The page is declared in the router, with the name of the
    machine:

        live_dashboard "/dashboard",
          additional_pages: [
            mote: {Mote.LiveDashboard, machine: MyApp.Mote}
          ]

    A second machine is a second page: `other: {Mote.LiveDashboard, machine: MyApp.Other}`. The menu shows the name of the
    machine, which must be an atom. The entry is disabled on nodes where no process has that name.

    The page shows the data of `Mote.Dashboard`: the state of the machine, memory, collections and pauses. For each sponsor it
    shows how busy it is, its turns, sends, creates and aborts a second, and how many events wait. The menus of LiveDashboard say
    how often the page reads these counters, and of which node. Figures for a second are means since the last reading.

    A click counts the behaviours. A click on one of them looks for its actors, and a click on an actor shows its state and the
    actors whose addresses it holds. Each of these clicks stops the machine for a moment, as `Mote.Inspection` says. The actors
    that the page lists stay alive until it lists others, or is left.

    The page only looks: it does not pause the machine, and does not trace. Whoever may open LiveDashboard sees the state of
    actors.
    """

    use Phoenix.LiveDashboard.PageBuilder

    alias Mote.Dashboard.Data
    alias Mote.Error

    # Milliseconds for which turns are counted, and those that an answer of another node may take.
    @while 200
    @timeout 15_000
    @by %{"turns" => :turns, "queued" => :queued, "bytes" => :bytes}

    @impl true
    def init(opts) do
      case opts do
        [machine: machine] when is_atom(machine) and machine not in [nil, true, false] ->
          {:ok, %{machine: machine}, process: machine}

        _ ->
          raise ArgumentError,
                "expected {Mote.LiveDashboard, machine: name}, with an atom, got: #{inspect(opts)}"
      end
    end

    @impl true
    def menu_link(%{machine: machine}, %{processes: running}) do
      if machine in running, do: {:ok, inspect(machine)}, else: {:disabled, inspect(machine)}
    end

    @impl true
    def mount(_params, %{machine: machine}, socket) do
      socket = assign(socket, machine: machine, now: nil, error: nil)
      {:ok, socket |> assign(behaviours: [], actors: nil, actor: nil, addresses: []) |> read()}
    end

    @impl true
    def handle_refresh(socket), do: {:noreply, read(socket)}

    @impl true
    def handle_event(event, params, socket) do
      case look(event, params, socket) do
        {:ok, found} -> {:noreply, assign(socket, [error: nil] ++ found)}
        {:error, message} -> {:noreply, assign(socket, error: message)}
      end
    end

    # -- reading -----------------------------------------------------------------------------------------------

    defp read(socket) do
      before = socket.assigns.now

      now =
        case call(socket, :snapshot, [socket.assigns.machine]) do
          {:ok, now} -> now
          {:error, message} -> %{state: :stopped, why: message}
        end

      assign(socket, now: now, sponsors: Data.rates(now, before))
    end

    defp look("count", _params, socket) do
      with {:ok, found} <- call(socket, :behaviours, [socket.assigns.machine, @while, &Function.identity/1]) do
        rows = for {row, n} <- Enum.with_index(found.behaviours), do: Map.put(row, :number, n)
        {:ok, behaviours: rows, actors: nil, actor: nil, addresses: []}
      end
    end

    defp look("actors", params, socket) do
      by = Map.get(@by, params["by"], :turns)

      with {:ok, %{id: behaviour, number: n}} <- nth(socket.assigns.behaviours, params["behaviour"]),
           arguments = [socket.assigns.machine, by, @while, behaviour, &Function.identity/1],
           {:ok, found} <- call(socket, :top, arguments),
           do: {:ok, actors: Map.put(found, :number, n), actor: nil, addresses: ids(found.actors)}
    end

    defp look("actor", params, socket) do
      with {:ok, address} <- nth(socket.assigns.addresses, params["actor"]),
           {:ok, actor} <- call(socket, :actor, [address, &Function.identity/1]),
           {:ok, %{nodes: [_itself | next]}} <- call(socket, :graph, [address, 1, &Function.identity/1]) do
        {:ok, actor: Map.put(actor, :next, next), addresses: ids(socket.assigns.actors.actors) ++ ids(next)}
      end
    end

    defp ids(rows), do: for(row <- rows, do: row.id)

    # What a click is about, which comes from the browser as the place in a list.
    defp nth(list, text) do
      with true <- is_binary(text) and byte_size(text) <= 6,
           {n, ""} when n >= 0 <- Integer.parse(text),
           {:ok, found} <- Enum.fetch(list, n) do
        {:ok, found}
      else
        _ -> {:error, "This was shown too long ago: count the behaviours again."}
      end
    end

    # Where the machine is. A process of its own is asked, so nothing of what it has looked through stays with the page.
    defp call(socket, function, arguments) do
      {:ok, :erpc.call(socket.assigns.page.node, Data, function, arguments, @timeout)}
    rescue
      error in ErlangError ->
        case error.original do
          {:exception, %Error{} = error, _stack} -> {:error, Exception.message(error)}
          {:erpc, reason} -> {:error, "The node has not answered: #{inspect(reason)}."}
          _ -> reraise(error, __STACKTRACE__)
        end
    end

    # -- showing -----------------------------------------------------------------------------------------------

    @impl true
    def render(assigns) do
      ~H"""
      <div :if={@error} class="alert alert-danger" role="alert"><%= @error %></div>
      <div :if={@now.state == :stopped} class="alert alert-warning" role="status"><%= @now.why %></div>
      <div :if={@now.state != :stopped}>
        <.figures now={@now} sponsors={@sponsors} />
        <.sponsors sponsors={@sponsors} />
        <p>
          <button type="button" class="btn btn-primary btn-sm" phx-click="count">Count behaviours</button>
        </p>
        <.behaviours :if={@behaviours != []} page={@page} behaviours={@behaviours} />
        <.actors :if={@actors} actors={@actors} />
        <.actor :if={@actor} actor={@actor} from={length(@actors.actors)} />
      </div>
      """
    end

    defp figures(assigns) do
      ~H"""
      <.row>
        <:col>
          <.card title="Machine" inner_title="State"><%= @now.state %></.card>
          <.card inner_title="Turns so far"><%= count(@now.counters.turns) %></.card>
          <.card inner_title="Aborted turns"><%= count(@now.counters.aborts) %></.card>
        </:col>
        <:col>
          <.card title="Memory" inner_title="Heap"><%= bytes(@now.memory.heap) %></.card>
          <.card inner_title="Mapped"><%= bytes(@now.memory.mapped) %></.card>
          <.card inner_title="Events waiting"><%= count(Enum.sum(for one <- @sponsors, do: one.waiting)) %></.card>
        </:col>
        <:col>
          <.card title="Collections" inner_title="So far"><%= count(@now.gc.collections) %></.card>
          <.card inner_title="Live actors" inner_hint="As the last collection found them.">
            <%= count(@now.gc.live_actors) %>
          </.card>
          <.card inner_title="Longest pause"><%= milliseconds(@now.gc.longest_pause) %></.card>
        </:col>
      </.row>
      """
    end

    defp sponsors(assigns) do
      ~H"""
      <h5 class="card-title">Sponsors</h5>
      <table class="table" id="mote-sponsors">
        <thead>
          <tr>
            <th :for={name <- ~w(Name Threads Busy Turns/s Sends/s Creates/s Aborts/s Waiting)}><%= name %></th>
          </tr>
        </thead>
        <tbody>
          <tr :for={one <- @sponsors}>
            <td><%= one.label %></td>
            <td><%= one.threads %></td>
            <td><%= percent(one.busy) %></td>
            <td><%= count(one.turns) %></td>
            <td><%= count(one.sends) %></td>
            <td><%= count(one.creates) %></td>
            <td><%= count(one.aborts) %></td>
            <td><%= count(one.waiting) %></td>
          </tr>
        </tbody>
      </table>
      """
    end

    defp behaviours(assigns) do
      ~H"""
      <.live_table
        id="mote-behaviours"
        dom_id="mote-behaviours"
        page={@page}
        title="Behaviours"
        rows_name="behaviours"
        limit={false}
        default_sort_by={:actors}
        row_fetcher={&sorted(@behaviours, &1, &2)}
        row_attrs={&leads_to_actors/1}
      >
        <:col field={:name} header="Behaviour" sortable={:asc} />
        <:col :let={one} field={:actors} header="Live actors" text_align="right" sortable={:desc}>
          <%= count(one.actors) %>
        </:col>
        <:col :let={one} field={:bytes} header="Memory" text_align="right" sortable={:desc}>
          <%= bytes(one.bytes) %>
        </:col>
        <:col :let={one} field={:turns} header="Turns in a fifth of a second" text_align="right" sortable={:desc}>
          <%= count(one.turns) %>
        </:col>
      </.live_table>
      """
    end

    defp actors(assigns) do
      ~H"""
      <h5 class="card-title">Actors of <%= @actors.behaviour %></h5>
      <p>
        <button
          :for={{by, text} <- [{"turns", "Most turns"}, {"queued", "Most events waiting"}, {"bytes", "Most memory"}]}
          type="button"
          class="btn btn-secondary btn-sm mr-2"
          phx-click="actors"
          phx-value-behaviour={@actors.number}
          phx-value-by={by}
        ><%= text %></button>
      </p>
      <p :if={@actors.actors == []}>None was found.</p>
      <p :if={@actors.partial}>There may be others: these were looked for among the first 4,096 of all actors.</p>
      <table :if={@actors.actors != []} class="table table-hover" id="mote-actors">
        <tbody>
          <tr :for={{one, n} <- Enum.with_index(@actors.actors)} phx-click="actor" phx-value-actor={n}>
            <td><%= one.address %></td>
            <td><%= figure(@actors.by, one.figure) %></td>
          </tr>
        </tbody>
      </table>
      """
    end

    defp actor(assigns) do
      ~H"""
      <h5 class="card-title"><%= @actor.address %></h5>
      <p>
        <%= @actor.behaviour %>, sponsor <%= @actor.sponsor %>: holds <%= bytes(@actor.bytes) %>,
        <%= count(@actor.queued) %> waiting
      </p>
      <pre :for={capture <- @actor.captures}><%= capture %></pre>
      <table :if={@actor.next != []} class="table table-hover" id="mote-next">
        <thead><tr><th>It can reach</th><th>Behaviour</th></tr></thead>
        <tbody>
          <tr :for={{one, n} <- Enum.with_index(@actor.next, @from)} phx-click="actor" phx-value-actor={n}>
            <td><%= one.address %></td>
            <td><%= one.behaviour %></td>
          </tr>
        </tbody>
      </table>
      """
    end

    defp leads_to_actors(row), do: [{"phx-click", "actors"}, {"phx-value-behaviour", row.number}]

    defp sorted(rows, %{search: search, sort_by: by, sort_dir: direction}, _node) do
      wanted = String.downcase(search || "")
      found = for row <- rows, String.contains?(String.downcase(row.name), wanted), do: row
      {Enum.sort_by(found, & &1[by], direction), length(found)}
    end

    # -- figures as text ---------------------------------------------------------------------------------------

    defp figure(:bytes, n), do: bytes(n)
    defp figure(:turns, n), do: count(n) <> " turns in a fifth of a second"
    defp figure(:queued, n), do: count(n) <> " waiting"

    defp count(nil), do: "–"

    defp count(n) do
      n
      |> round()
      |> Integer.to_string()
      |> String.reverse()
      |> String.replace(~r/\d{3}(?=\d)/, "\\0,")
      |> String.reverse()
    end

    defp percent(nil), do: "–"
    defp percent(part), do: "#{round(part * 100)} %"

    defp milliseconds(ns), do: "#{Float.round(ns / 1_000_000, 2)} ms"

    defp bytes(n), do: scaled(n, ["B", "KiB", "MiB", "GiB"])

    defp scaled(n, [unit | greater]) when n < 1024 or greater == [], do: "#{Float.round(n / 1, 1)} #{unit}"
    defp scaled(n, [_unit | greater]), do: scaled(n / 1024, greater)
  end
end
